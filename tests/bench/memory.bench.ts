// The nearest 5 of 100,000 passages of 384 dimensions: by the exact scan that a worker makes, and by pgvector where the server has it.
//   npm run bench:memory [-- --passages 100000 --database URL | --pglite]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { migrate, nearestPassages } from "@markmill/store/machine";
import { unitBytes } from "../../packages/llm/src/vectors-text.ts";
import { openDatabase } from "../../packages/store/src/database/database.ts";
import { fillPassageIndex } from "../../packages/store/src/memory/passage-index/fill-passage-index.ts";
import { explainPassageSearch } from "../../packages/store/src/memory/passage-index/passage-index.ts";
import { startVectorPostgres } from "../support/pglite.ts";

const { values } = parseArgs({
  options: {
    passages: { type: "string", default: "100000" },
    /** An empty one. */
    database: { type: "string" },
    /** Postgres in WebAssembly, which has the extension. */
    pglite: { type: "boolean", default: false },
  },
});
const count = Number(values.passages);
const dimensions = 384;
const top = 5;
const rounds = 10;

async function openServer() {
  if (values.pglite) return startVectorPostgres();
  if (values.database !== undefined) {
    const database = openDatabase({ url: values.database });
    return { database, stop: () => database.close() };
  }
  const directory = await mkdtemp(join(tmpdir(), "markmill-memory-"));
  const postgres = await startEmbeddedPostgres({ directory });
  const database = openDatabase({ url: postgres.url });
  return {
    database,
    async stop() {
      await database.close();
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

// The same vectors every time: around 1,000 themes, as texts are, so that there is something near to be found.
let state = 1;
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32 - 0.5;
};
const drawn = () => Array.from({ length: dimensions }, chance);
const themes = Array.from({ length: 1_000 }, drawn);
const vector = () => {
  const theme = themes[Math.floor((chance() + 0.5) * themes.length)] ?? [];
  return Buffer.from(unitBytes(drawn().map((value, at) => value + (theme[at] ?? 0))));
};

const server = await openServer();
try {
  const { database } = server;
  await migrate(database.calm);
  for (let from = 0; from < count; from += 500) {
    const positions = Array.from({ length: Math.min(500, count - from) }, (_, at) => from + at);
    await database.calm.query(
      `insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
       select 'default', 'named:bench', 'r', 'hash/384', 1, x.position, 'passage ' || x.position, x.vector
       from unnest($1::integer[], $2::bytea[]) as x(position, vector)`,
      [positions, positions.map(vector)],
    );
  }
  const asked = Array.from({ length: rounds }, vector);

  /** Returns the texts that were found. */
  async function measure(how: string): Promise<readonly (readonly string[])[]> {
    const scope = { tenant: "default", scope: "named:bench", embedder: "hash/384" };
    const times: number[] = [];
    const found: string[][] = [];
    const begun = process.cpuUsage();
    for (const one of asked) {
      const since = performance.now();
      const nearest = await nearestPassages(database, scope, one, top);
      times.push(performance.now() - since);
      if (nearest.length !== top) throw new Error(`${nearest.length} were found`);
      found.push(nearest.map(({ text }) => text));
    }
    const { user, system } = process.cpuUsage(begun);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor((rounds - 1) * share)] ?? 0).toFixed(1);
    console.log(
      `${count} passages of ${dimensions} dimensions, nearest ${top}, ${how}: median ${at(0.5)} ms, slowest ${at(1)} ms, ` +
        `${((user + system) / 1_000 / rounds).toFixed(1)} ms of this process's processor${values.pglite ? ", the server's with it" : ""}`,
    );
    return found;
  }

  const scanned = await measure("exact scan");
  console.log(`peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);
  const search = await explainPassageSearch(database);
  if (search.by === "pgvector") {
    const since = performance.now();
    let copied = 0;
    const onCopied = async (some: number) => {
      copied += some;
      if (copied % 10_000 < some)
        console.error(`${copied} indexed, ${Math.round((performance.now() - since) / 1_000)} s`);
      return true;
    };
    await fillPassageIndex(database, { onCopied });
    console.log(`indexed in ${Math.round((performance.now() - since) / 1_000)} s, without rests`);
    await database.calm.query("analyze markmill_index.indexed_passages");
    const near = await measure(`pgvector ${search.version}`);
    const hits = near.flatMap((texts, at) => texts.filter((text) => scanned[at]?.includes(text))).length;
    console.log(`${((100 * hits) / (rounds * top)).toFixed(1)} % of what the scan found`);
  } else console.log(`no pgvector: ${search.why}`);
} finally {
  await server.stop();
}
