/** Definitions are immutable by content hash, so a program once read is not read again while it is in use. */
import type { Program } from "@markmill/engine";
import type { Pool } from "pg";
import { toJson } from "./neutral.ts";
import { StoreError, translate } from "./store-error.ts";

export interface Definition {
  readonly hash: string;
  readonly dialect: string;
  readonly name: string;
  /** Key of the program a run of this definition starts with. */
  readonly root: string;
  readonly programs: Readonly<Record<string, Program>>;
  /** Sources by path, for people. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Definitions {
  save(definition: Definition): Promise<void>;
  load(hash: string): Promise<Definition>;
  find(hash: string): Promise<Definition | null>;
  /** Loads what is not held yet, in one statement. */
  ensure(hashes: Iterable<string>): Promise<void>;
  /** Throws unless `ensure` has loaded it. */
  program(hash: string, path: string): Program;
}

const held = 500;

export function createDefinitions(pool: Pool): Definitions {
  const cache = new Map<string, Definition>();
  const keep = (definition: Definition) => {
    cache.delete(definition.hash);
    cache.set(definition.hash, definition);
    for (const oldest of cache.keys()) {
      if (cache.size <= held) break;
      cache.delete(oldest);
    }
  };

  async function ensure(hashes: Iterable<string>): Promise<void> {
    const missing: string[] = [];
    // What is asked for becomes the newest, so that what is loaded for one of a group does not drive out what another needs.
    for (const hash of new Set(hashes)) {
      const known = cache.get(hash);
      if (known === undefined) missing.push(hash);
      else keep(known);
    }
    if (missing.length === 0) return;
    const { rows } = await pool.query<Definition>(
      "select hash, dialect, name, root, programs, files from definitions where hash = any($1)",
      [missing],
    );
    for (const row of rows) keep(row);
  }

  function require(hash: string): Definition {
    const definition = cache.get(hash);
    if (definition === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no definition ${hash}.`);
    return definition;
  }

  return {
    async save(definition) {
      if (cache.has(definition.hash)) return;
      try {
        await pool.query(
          "insert into definitions (hash, dialect, name, root, programs, files) values ($1, $2, $3, $4, $5, $6) on conflict do nothing",
          [
            definition.hash,
            definition.dialect,
            definition.name,
            definition.root,
            toJson(definition.programs),
            toJson(definition.files),
          ],
        );
      } catch (error) {
        throw translate(error, "Saving a definition");
      }
      keep(definition);
    },
    async load(hash) {
      await ensure([hash]);
      return require(hash);
    },
    async find(hash) {
      await ensure([hash]);
      return cache.get(hash) ?? null;
    },
    ensure,
    program(hash, path) {
      const program = require(hash).programs[path];
      if (program === undefined) {
        throw new StoreError("STORE_NOT_FOUND", `Definition ${hash} has no program ${path}.`);
      }
      return program;
    },
  };
}
