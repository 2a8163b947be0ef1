/** Names that have a value without being declared. */
export const builtInNames: ReadonlySet<string> = new Set([
  "RESULT",
  "CONTENT",
  "STATUS",
  "EXIT_CODE",
  "ERROR",
  "LABEL",
  "AI_MODEL_NAME",
  "AI_TEMPERATURE",
  "AI_TOP_P",
  "AI_FREQUENCY_PENALTY",
  "AI_PRESENCE_PENALTY",
  "AI_MAX_OUTPUT_TOKENS",
  "AI_MAX_PROMPT_LENGTH",
  "AI_STOP_SEQUENCE",
  "MAX_ACTIVITY_HITS",
  "MAX_STEPS",
  "MAX_CALL_DEPTH",
  "MAX_COST",
  "MAX_TOKENS",
  "MAX_CHARACTERS",
  "MAX_DURATION",
]);

/** Settings that must be a plain number. */
export function isLimitSetting(name: string): boolean {
  return name.startsWith("MAX_") && builtInNames.has(name);
}

export const plainNumber = /^\s*[0-9]+(?:\.[0-9]+)?\s*$/;

export const runStatuses: readonly string[] = ["CREATED", "DOING", "SUCCESS", "FAILED"];
