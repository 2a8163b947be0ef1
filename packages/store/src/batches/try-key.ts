/** The idempotency key under which the run of a try is created. */
const prefix = "batch-try:";

export const tryKey = {
  of: (runId: string) => `${prefix}${runId}`,
  sql: (runId: string) => `'${prefix}' || ${runId}`,
};
