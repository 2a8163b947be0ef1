/** The main file of a process that only serves the API. */
import { runProcess } from "@markmill/stack";
import { apiRole } from "./api-role.ts";

process.exitCode = await runProcess(apiRole, "markmill-api", process.argv.slice(2));
