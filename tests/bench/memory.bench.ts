// The nearest 5 of 100,000 passages of 384 dimensions, by the exact scan that a worker makes.
//   npm run bench:memory [-- --passages 100000]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { openStore } from "@markmill/store";
import { nearestPassages } from "@markmill/store/machine";
import { unitBytes } from "../../packages/llm/src/vectors-text.ts";

const { values } = parseArgs({ options: { passages: { type: "string", default: "100000" } } });
const count = Number(values.passages);
const dimensions = 384;
const directory = await mkdtemp(join(tmpdir(), "markmill-memory-"));
const postgres = await startEmbeddedPostgres({ directory });
try {
  const store = await openStore({ url: postgres.url });
  const { database } = store.machine;
  // The same vectors every time.
  let state = 1;
  const chance = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const vector = () => Buffer.from(unitBytes(Array.from({ length: dimensions }, chance)));
  for (let from = 0; from < count; from += 1_000) {
    const positions = Array.from({ length: Math.min(1_000, count - from) }, (_, at) => from + at);
    await database.calm.query(
      `insert into passages (tenant, scope, embedder, activity_id, position, text, vector)
       select 'default', 'named:bench', 'hash/384', 1, x.position, 'passage ' || x.position, x.vector
       from unnest($1::integer[], $2::bytea[]) as x(position, vector)`,
      [positions, positions.map(vector)],
    );
  }
  const scope = { tenant: "default", scope: "named:bench", embedder: "hash/384" };
  const times: number[] = [];
  const begun = process.cpuUsage();
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    const since = performance.now();
    const found = await nearestPassages(database, scope, vector(), 5);
    times.push(performance.now() - since);
    if (found.length !== 5) throw new Error("not 5 were found");
  }
  const { user, system } = process.cpuUsage(begun);
  const median = times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
  const cpu = (user + system) / 1_000 / rounds;
  console.log(
    `${count} passages of ${dimensions} dimensions, nearest 5, exact scan: median ${Math.round(median)} ms, ` +
      `${Math.round(cpu)} ms of the worker's processor, peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`,
  );
  await store.close();
} finally {
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}
