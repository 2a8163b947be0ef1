/** DBOS: one workflow of no-op steps, each recorded by runStep, called directly (its queues poll and would be slower). */
import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { serveSystem } from "../line-protocol.ts";

await serveSystem(async ({ databaseUrl, workload }) => {
  if (workload.kind !== "chain") throw new Error("only chains");
  const nothing = async () => null;
  const chain = DBOS.registerWorkflow(
    async () => {
      for (let step = 0; step < workload.steps; step += 1) await DBOS.runStep(nothing, { name: "step" });
    },
    { name: "chain" },
  );
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: databaseUrl,
    executorID: `bench-${process.pid}`,
    applicationVersion: "1",
    logLevel: "error",
    enableOTLP: false,
  });
  await DBOS.launch();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return {
    pids: { process: process.pid },
    run: () => chain(),
    async durableSteps() {
      const { rows } = await client.query<{ steps: string }>("select count(*) as steps from dbos.operation_outputs");
      return Number(rows[0]?.steps);
    },
    async close() {
      await client.end();
      await DBOS.shutdown();
    },
  };
});
