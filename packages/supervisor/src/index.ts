export { type RunningSupervisor, type SupervisorParts, startSupervisor } from "./supervisor.ts";
