/**
 * Definitions are immutable under their content hash, so a program is not read again while it is in use. Each tenant has its own: a
 * definition that one tenant stored never runs for another.
 *
 * D1  The current version of a name is the one that was uploaded last. Uploading an old version again makes it the current one; starting a
 *     run of it does not. `created_at` is the time of the last upload.
 *
 * Saving is one statement: kill -9 leaves the definition as it was, or saved.
 */
import type { Program } from "@markmill/engine";
import type { Pool } from "pg";
import { toJson } from "../database/neutral.ts";
import { StoreError, translate } from "../database/store-error.ts";

export interface Definition {
  readonly hash: string;
  readonly dialect: string;
  readonly name: string;
  /** Key of the program with which a run of this definition starts. */
  readonly root: string;
  readonly programs: Readonly<Record<string, Program>>;
  /** Sources by path, for people. */
  readonly files: Readonly<Record<string, string>>;
}

/** The tenant and the hash of a definition. */
interface DefinitionKey {
  readonly tenant: string;
  readonly hash: string;
}

export interface Definitions {
  /** `current`: a person uploads it (D1). */
  save(tenant: string, definition: Definition, options?: { readonly current?: boolean }): Promise<void>;
  find(key: DefinitionKey): Promise<Definition | null>;
  /** Loads the missing definitions in one statement. */
  ensure(keys: readonly DefinitionKey[]): Promise<void>;
  /** Throws unless `ensure` has loaded it. */
  program(key: DefinitionKey, path: string): Program;
}

const held = 500;
/** Tenant ids and hashes contain no line break. */
const nameOf = ({ tenant, hash }: DefinitionKey) => `${tenant}\n${hash}`;

export function createDefinitions(pool: Pool): Definitions {
  const cache = new Map<string, Definition>();
  const keep = (tenant: string, definition: Definition) => {
    const name = nameOf({ tenant, hash: definition.hash });
    cache.delete(name);
    cache.set(name, definition);
    for (const oldest of cache.keys()) {
      if (cache.size <= held) break;
      cache.delete(oldest);
    }
  };

  async function ensure(keys: readonly DefinitionKey[]): Promise<void> {
    const missing = new Map<string, DefinitionKey>();
    // Requested definitions become the newest: loading some of a group must not evict others of it.
    for (const key of keys) {
      const known = cache.get(nameOf(key));
      if (known === undefined) missing.set(nameOf(key), key);
      else keep(key.tenant, known);
    }
    if (missing.size === 0) return;
    const wanted = [...missing.values()];
    const { rows } = await pool.query<Definition & { readonly tenant: string }>(
      `select tenant, hash, dialect, name, root, programs, files from definitions
       where (tenant, hash) in (select * from unnest($1::text[], $2::text[]))`,
      [wanted.map(({ tenant }) => tenant), wanted.map(({ hash }) => hash)],
    );
    for (const { tenant, ...definition } of rows) keep(tenant, definition);
  }

  return {
    async save(tenant, definition, { current = false } = {}) {
      if (!current && cache.has(nameOf({ tenant, hash: definition.hash }))) return;
      const { hash, dialect, name, root, programs, files } = definition;
      try {
        await pool.query(
          `insert into definitions (tenant, hash, dialect, name, root, programs, files)
           values ($1, $2, $3, $4, $5, $6, $7)
           on conflict ${current ? "(tenant, hash) do update set created_at = clock_timestamp()" : "do nothing"}`,
          [tenant, hash, dialect, name, root, toJson(programs), toJson(files)],
        );
      } catch (error) {
        throw translate(error, "Saving a definition");
      }
      keep(tenant, definition);
    },
    async find(key) {
      try {
        await ensure([key]);
      } catch (error) {
        throw translate(error, "Reading a definition");
      }
      return cache.get(nameOf(key)) ?? null;
    },
    ensure,
    program(key, path) {
      const definition = cache.get(nameOf(key));
      if (definition === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no definition ${key.hash}.`);
      const program = definition.programs[path];
      if (program === undefined) {
        throw new StoreError("STORE_NOT_FOUND", `Definition ${key.hash} has no program ${path}.`);
      }
      return program;
    },
  };
}
