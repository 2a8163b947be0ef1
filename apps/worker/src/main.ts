/** The process of a worker, and nothing else. */
import { runProcess, workerRole } from "@markmill/stack";

process.exitCode = await runProcess(workerRole, "markmill-worker", process.argv.slice(2));
