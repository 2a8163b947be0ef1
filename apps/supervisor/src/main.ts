/** The process of a supervisor, and nothing else. */
import { runProcess, supervisorRole } from "@markmill/stack";

process.exitCode = await runProcess(supervisorRole, "markmill-supervisor", process.argv.slice(2));
