/** Connections to Postgres break at any time: results of outside calls are not lost, and nothing is done twice. */

import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { type Backend, type Mill, startMill, workflow } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";
import { getHistory } from "../support/store.ts";

const script = `rules: [{ when: { pattern: "say (?<what>.*)" }, reply: "{{what}}", delay: 400ms }]`;
const redis = await redisAvailable("loss of Postgres connections on the Redis backend");
const backends: Backend[] = redis ? ["redis", "postgres"] : ["postgres"];
let mill: Mill | null = null;
afterEach(async () => {
  await mill?.close();
  mill = null;
});

describe.each(backends)("connections to Postgres lost, on the %s backend", (backend) => {
  it("lose nothing while prompts and commands run: all runs finish, each activity once", async () => {
    const running = await startMill({ backend, script });
    mill = running;
    const chart = `START --> PROMPT_A[Prompt: User A] --> EXECUTE_B["Execute: sleep 1; echo $((1 + 1))"] --> SET_C[Set: C=RESULT] --> PROMPT_D[Prompt: User D]`;
    const files = { "a.md": workflow(chart, { "User A": "say {{N}}", "User D": "say good {{N}}" }) };
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push(await running.start(files, { variables: { N: `n${n}` } }));
    const admin = new pg.Client({ connectionString: running.databaseUrl });
    await admin.connect();
    for (let times = 0; times < 6; times++) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
    }
    await admin.end();
    for (const [n, id] of ids.entries()) {
      expect(await running.ended(id)).toMatchObject({
        status: "success",
        result: `good n${n}`,
        variables: { C: "$ sleep 1; echo $((1 + 1))\n2\n" },
        // No unsent request is booked.
        spent: { calls: 2, unsure: { calls: 0 } },
      });
      const { entries } = await getHistory(running.store.database, id);
      expect(entries.filter((entry) => entry.kind === "event")).toHaveLength(5);
    }
    expect(running.requests()).toHaveLength(16);
  });
});
