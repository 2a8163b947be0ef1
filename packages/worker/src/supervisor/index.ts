export { type RunningSupervisor, type SupervisorParts, startSupervisor } from "./supervisor.ts";
export { type SendWebhook, tellWebhooks } from "./tell-webhooks.ts";
