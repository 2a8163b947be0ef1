/**
 * The passage index: a copy of the vectors of large scopes, in which pgvector finds the nearest ones, if the server has the extension.
 *
 * X1  It is derived: `passages` is the truth. Dropping the schema `markmill_index` loses only time.
 * X2  It has a schema of its own, so that `markmill` is the same with and without the extension. It is created outside the migrations
 *     (make-passage-index.ts), so it cannot make one fail.
 * X3  Deleting a passage deletes its copy, by a foreign key. An index without that key, or without its column, counts as missing.
 */
import type { Database } from "../../database/database.ts";
import { queryDatabase } from "../../database/query-database.ts";

/** The oldest version with iterative scans. Without them, a filtered scan may find nothing. */
const oldestVersion = "0.8";
/** pgvector indexes at most this number of dimensions. */
export const mostIndexed = 2_000;

/** How passages are found on this server. */
export type PassageSearch =
  | { readonly by: "pgvector"; readonly version: string; readonly extensionSchema: string }
  | { readonly by: "scan"; readonly why: "not on the server" | "too old" | "not created" | "no index" };

export interface Standing {
  readonly version: string | null;
  readonly extensionSchema: string | null;
  readonly made: boolean;
}

/** `extensionSchema` is quoted. Reads only catalogs, which every role may read. For a role that may not use the index there is none. */
export const standingText = `
  select e.extversion as version, quote_ident(n.nspname) as "extensionSchema", exists (
    select 1 from pg_namespace s join pg_class c on c.relnamespace = s.oid and c.relname = 'indexed_passages'
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'vector' and not a.attisdropped
      join pg_constraint k on k.conrelid = c.oid join pg_class p on p.oid = k.confrelid and p.relname = 'passages'
    where s.nspname = 'markmill_index' and has_schema_privilege(s.oid, 'usage') and has_table_privilege(c.oid, 'select')
  ) as made
  from (select) one left join pg_extension e on e.extname = 'vector' left join pg_namespace n on n.oid = e.extnamespace`;

export const availableText = "select default_version as version from pg_available_extensions where name = 'vector'";

export async function passageSearchOf(database: Database): Promise<PassageSearch> {
  const [standing] = await queryDatabase<Standing>(database, "Asking for the passage index", standingText);
  const { version = null, extensionSchema = null, made = false } = standing ?? {};
  if (version === null || extensionSchema === null) return { by: "scan", why: "not created" };
  if (isTooOld(version)) return { by: "scan", why: "too old" };
  return made ? { by: "pgvector", version, extensionSchema } : { by: "scan", why: "no index" };
}

/** The same, plus whether the server could have an index. Do not call this for every search, because the server reads files for it. */
export async function explainPassageSearch(database: Database): Promise<PassageSearch> {
  const search = await passageSearchOf(database);
  if (search.by === "pgvector" || search.why !== "not created") return search;
  const [available] = await queryDatabase<{ version: string }>(database, "Asking for pgvector", availableText);
  if (available === undefined) return { by: "scan", why: "not on the server" };
  return isTooOld(available.version) ? { by: "scan", why: "too old" } : search;
}

export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldestVersion.split(".").map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

/** In the text form of pgvector. */
export function vectorText(bytes: Uint8Array): string {
  return `[${floatsOf(bytes).join(",")}]`;
}

/** 32-bit floats, little-endian. A view of the bytes if they are aligned, otherwise a copy. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}
