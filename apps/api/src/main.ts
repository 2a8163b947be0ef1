/** The process of the API, and nothing else. */
import { runProcess } from "@markmill/stack";
import { apiRole } from "./api-role.ts";

process.exitCode = await runProcess(apiRole, "markmill-api", process.argv.slice(2));
