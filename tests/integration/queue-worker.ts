// A worker process to be killed: it accepts a job, prints its id on stdout and never completes it.
import { openQueues } from "@markmill/queue";

const [kind, url = "", prefix = ""] = process.argv.slice(2);
const queues = await openQueues({ backend: { kind: kind === "redis" ? "redis" : "postgres", url }, prefix });
queues.serve("execute", (delivered) => {
  console.log(delivered.jobId);
  return new Promise(() => undefined);
});
