/** The kinds of activities as they appear in ids: the text before the first underscore, in any case. */
export const activityKinds = [
  "START",
  "SET",
  "ASSIGN",
  "CHECK",
  "PROMPT",
  "ASK",
  "EXECUTE",
  "GRADE",
  "CALL",
  "SUCCESS",
  "FAILED",
  "ON",
  "PARAMS",
] as const;

export type ActivityKind = (typeof activityKinds)[number];

const byWord: ReadonlyMap<string, ActivityKind> = new Map(activityKinds.map((kind) => [kind, kind]));

export function activityKind(id: string): ActivityKind | null {
  const end = id.indexOf("_");
  const word = end < 0 ? id : id.slice(0, end);
  return byWord.get(word) ?? byWord.get(word.toUpperCase()) ?? null;
}

/** The event in a handler's id: ON_SUCCESS, its old misspelling, or ON_FAILED. */
export function handledEvent(id: string): "success" | "misspelt success" | "failed" | null {
  const event = (id.split("_")[1] ?? "").toUpperCase();
  return event === "SUCCESS"
    ? "success"
    : event === "SUCCES"
      ? "misspelt success"
      : event === "FAILED"
        ? "failed"
        : null;
}
