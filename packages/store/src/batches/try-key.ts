/** The idempotency key under which the run of an attempt is created. */
const prefix = "batch-try:";

export const tryKey = {
  of: (runId: string) => `${prefix}${runId}`,
  sql: (runId: string) => `'${prefix}' || ${runId}`,
};
