/** Checks results by the rules of Gradescope's published format. The code is independent of our own reader and writer. */
import { isRecord } from "@markmill/base/json";

export function gradescopeProblems(text: string): string[] {
  const problems: string[] = [];
  if (Buffer.byteLength(text) > 1024 * 1024) problems.push("larger than 1 MiB");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ["no JSON"];
  }
  if (!isRecord(value)) return ["no object"];
  const formats = ["text", "html", "simple_format", "md", "ansi"];
  const visibilities = ["visible", "hidden", "after_due_date", "after_published"];
  const check = (holder: Record<string, unknown>, where: string, key: string, fits: (one: unknown) => boolean) => {
    if (holder[key] !== undefined && !fits(holder[key])) problems.push(`${where}${key}`);
  };
  const isNumber = (one: unknown) => typeof one === "number" && Number.isFinite(one);
  const isText = (one: unknown) => typeof one === "string" && !one.includes("\r");
  const among = (words: string[]) => (one: unknown) => typeof one === "string" && words.includes(one);
  for (const key of ["score", "execution_time"]) check(value, "", key, isNumber);
  for (const key of ["output_format", "test_output_format", "test_name_format"]) check(value, "", key, among(formats));
  for (const key of ["visibility", "stdout_visibility"]) check(value, "", key, among(visibilities));
  check(value, "", "output", isText);
  check(value, "", "extra_data", isRecord);
  const tests = value.tests ?? [];
  if (!Array.isArray(tests)) return [...problems, "tests"];
  const scored = tests.some((test) => isRecord(test) && test.score !== undefined);
  if (value.score === undefined && !scored) problems.push("neither a score nor a test with one");
  for (const [index, test] of tests.entries()) {
    const where = `tests.${index}.`;
    if (!isRecord(test)) {
      problems.push(where);
      continue;
    }
    for (const key of ["score", "max_score"]) check(test, where, key, isNumber);
    check(test, where, "status", among(["passed", "failed"]));
    for (const key of ["name", "number", "output"]) check(test, where, key, isText);
    for (const key of ["name_format", "output_format"]) check(test, where, key, among(formats));
    check(test, where, "visibility", among(visibilities));
    check(test, where, "tags", (one) => Array.isArray(one) && one.every(isText));
    check(test, where, "extra_data", isRecord);
  }
  const board = value.leaderboard ?? [];
  if (
    !Array.isArray(board) ||
    board.some((one) => !isRecord(one) || typeof one.name !== "string" || one.value === undefined)
  ) {
    problems.push("leaderboard");
  }
  return problems;
}
