/** LangGraph with its Postgres checkpointer. `durability: "sync"` waits for each checkpoint: the other modes may lose steps. */
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { serveSystem } from "../line-protocol.ts";

await serveSystem(async ({ databaseUrl, workload }) => {
  if (workload.kind !== "chain") throw new Error("only chains");
  const { steps } = workload;
  const pool = new pg.Pool({ connectionString: databaseUrl });
  const saver = new PostgresSaver(pool);
  await saver.setup();
  const names = Array.from({ length: steps }, (_, index) => `step-${index + 1}`);
  const graph = new StateGraph(Annotation.Root({ step: Annotation<number>() })).addSequence(
    names.map((name, index): [string, () => { step: number }] => [name, () => ({ step: index + 1 })]),
  );
  const app = graph
    .addEdge(START, names[0])
    .addEdge(names[steps - 1], END)
    .compile({ checkpointer: saver });
  let runs = 0;
  return {
    pids: { process: process.pid },
    async run() {
      runs += 1;
      const settings = { configurable: { thread_id: `run-${runs}` }, durability: "sync", recursionLimit: steps + 10 };
      const { step } = await app.invoke({ step: 0 }, settings);
      if (step !== steps) throw new Error(`the run ended at step ${step}`);
    },
    async durableSteps() {
      // Besides one checkpoint per node, a run has one for its input and one for its start.
      const { rows } = await pool.query<{ steps: string }>(
        "select count(*) as steps from checkpoints where (metadata->>'step')::int >= 1",
      );
      return Number(rows[0]?.steps);
    },
    close: () => pool.end(),
  };
});
