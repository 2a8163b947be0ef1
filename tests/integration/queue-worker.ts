// A worker process of its own, to be killed: takes a job, says so on stdout and never ends it.
import { openQueues } from "@markmill/queue";

const [kind, url = "", prefix = ""] = process.argv.slice(2);
const queues = await openQueues({ backend: { kind: kind === "redis" ? "redis" : "postgres", url }, prefix });
queues.serve("execute", (delivered) => {
  console.log(delivered.jobId);
  return new Promise(() => undefined);
});
