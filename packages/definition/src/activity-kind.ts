/** Kinds of activities as ids spell them: the text before the first underscore, in any case. */
export const activityKinds = [
  "START",
  "SET",
  "ASSIGN",
  "CHECK",
  "PROMPT",
  "ASK",
  "EXECUTE",
  "CALL",
  "SUCCESS",
  "FAILED",
  "ON",
  "PARAMS",
] as const;

export type ActivityKind = (typeof activityKinds)[number];

export function activityKind(id: string): ActivityKind | null {
  const word = (id.split("_", 1)[0] ?? "").toUpperCase();
  return activityKinds.find((kind) => kind === word) ?? null;
}

/** The event a handler's id names: ON_SUCCESS, its old misspelling, or ON_FAILED. */
export function handledEvent(id: string): "success" | "misspelt success" | "failed" | null {
  const event = (id.split("_")[1] ?? "").toUpperCase();
  return event === "SUCCESS" ? "success" : event === "SUCCES" ? "misspelt success" : event === "FAILED" ? "failed" : null;
}
