/**
 * Ends of runs and their handlers.
 *
 * E1  ON_SUCCESS and ON_FAILED run at most once each.
 * E2  A handler follows an end and does not change it. Status, reason, RESULT, ERROR and status word of the run keep the values that they
 *     had when the handler began. The handler's own RESULT becomes the variable REPORT.
 * E3  A failure in a handler becomes a warning in the record, and so does a cancel while it runs.
 * E4  The epoch rises when a limit or a cancel ends a run or starts a handler. It also rises when anything else does so while work is in
 *     flight. Activities in flight become void (I6).
 */
import { allow, Excess, jsonLength } from "./bounds.ts";
import { evidenceOf, returnedVariables } from "./evidence.ts";
import { type Failure, isLimit } from "./failure.ts";
import { handlerAllowance } from "./limits.ts";
import type { Operand } from "./operand.ts";
import { own } from "./own-value.ts";
import { parseShallow } from "./parse-shallow.ts";
import type { PostRule, ResultRule } from "./program.ts";
import { resolve } from "./resolve.ts";
import type { Ended, HandlingPhase, Phase, RunState } from "./state.ts";
import { change, scopeOf, setVariable, type Turn, warn } from "./turn.ts";

export function succeedRun(turn: Turn, word: string | null = null): void {
  const { phase } = turn.state;
  if (phase.is === "handling") return endHandler(turn, phase);
  // If the result exceeds a bound, the run does not succeed.
  const { excess } = resultWithin(turn);
  if (excess !== null) return failRun(turn, excess, word);
  setVariable(turn, "STATUS", "SUCCESS");
  const handler = turn.program.handlers.success;
  if (handler === null || turn.state.handled.success) return finishRun(turn, "success", null, word);
  turnTo(turn, handler, "success", null, word);
}

export function failRun(turn: Turn, why: Failure, word: string | null = null): void {
  const { phase } = turn.state;
  if (phase.is === "handling") return cutHandler(turn, phase, why);
  setVariable(turn, "STATUS", "FAILED");
  setVariable(turn, "ERROR", `${why.code}: ${why.message}`);
  if (isLimit(why)) {
    const result = turn.state.variables.RESULT ?? "";
    setVariable(turn, "RESULT", result === "" ? why.message : `${why.message}  \n${result}`);
  }
  const handler = turn.program.handlers.failed;
  if (handler === null || turn.state.handled.failed) return finishRun(turn, "failed", why, word);
  turnTo(turn, handler, "failed", why, word);
}

/** Applies E3. The run's handler ends here, and the run keeps its end (E2). */
export function cutHandler(turn: Turn, phase: HandlingPhase, why: Failure): void {
  warn(turn, "HANDLER_FAILED", `The handler ended early. ${why.code}: ${why.message}`, null);
  endHandler(turn, phase);
}

/** Applies E2. */
function endHandler(turn: Turn, { of, reason, ended }: HandlingPhase): void {
  const report = turn.state.variables.RESULT ?? "";
  if (report !== ended.RESULT) setVariable(turn, "REPORT", report);
  setVariable(turn, "RESULT", ended.RESULT);
  const { ERROR: _, ...others } = turn.state.variables;
  if (own(turn.state.variables, "ERROR") !== (ended.ERROR ?? undefined)) {
    change(turn, { variables: ended.ERROR === null ? others : { ...others, ERROR: ended.ERROR } });
  }
  finishRun(turn, of, reason, ended.word, ended.result);
}

export function finishRun(
  turn: Turn,
  status: "success" | "failed" | "cancelled",
  reason: Failure | null,
  word: string | null = null,
  result: string = resultWithin(turn).result,
): void {
  clear(turn, status === "cancelled" || (reason !== null && isLimit(reason)));
  const variables = returnedVariables(turn.state);
  setVariable(turn, "STATUS", status === "success" ? "SUCCESS" : "FAILED");
  change(turn, { phase: { is: "ended", status, reason } });
  const { spent, idle } = turn.state;
  turn.commands.push({
    do: "end",
    status,
    word,
    result,
    variables,
    reason,
    steps: spent.steps,
    idleMs: idle.ms,
    ...(idle.spans === undefined ? {} : { waits: idle.spans }),
  });
}

/** Ends the run after a bug of ours. It does nothing else, so that nothing can fail again. */
export function breakRun(turn: Turn, reason: Failure): void {
  const { variables, spent, idle } = turn.state;
  const returned = returnedVariables(turn.state);
  change(turn, { active: {}, held: [], tokens: {}, maps: {}, epoch: turn.state.epoch + 1 });
  setVariable(turn, "STATUS", "FAILED");
  setVariable(turn, "ERROR", `${reason.code}: ${reason.message}`);
  change(turn, { phase: { is: "ended", status: "failed", reason } });
  const end = { do: "end", status: "failed", word: null, result: variables.RESULT ?? "", variables: returned } as const;
  turn.commands.push({ do: "abort" }, { ...end, reason, steps: spent.steps, idleMs: idle.ms });
}

function turnTo(
  turn: Turn,
  handler: string,
  of: "success" | "failed",
  reason: Failure | null,
  word: string | null,
): void {
  clear(turn, reason !== null && isLimit(reason));
  const { timeMs } = handlerAllowance(turn.state.limits);
  const until = timeMs === null ? null : turn.event.at + timeMs;
  const { variables } = turn.state;
  const ended: Ended = {
    result: resultWithin(turn).result,
    word,
    RESULT: variables.RESULT ?? "",
    ERROR: own(variables, "ERROR") ?? null,
    evidence: evidenceOf(turn.state),
  };
  const phase: Phase = { is: "handling", of, reason, from: turn.state.spent, until, ended };
  change(turn, { phase, handled: { ...turn.state.handled, [of]: true } });
  if (until !== null) turn.commands.push({ do: "deadline", at: until });
  turn.ready.push({ node: handler, only: null });
}

/** Discards all earlier work (E4). */
function clear(turn: Turn, raise: boolean): void {
  turn.ready.length = 0;
  turn.fed.length = 0;
  if (raise || Object.keys(turn.state.active).length > 0) {
    change(turn, { epoch: turn.state.epoch + 1 });
    // Work that this same step requested is void too.
    const kept = turn.commands.filter(({ do: what }) => what !== "perform" && what !== "retry" && what !== "await");
    turn.commands.length = 0;
    turn.commands.push(...kept, { do: "abort" });
  }
  change(turn, { active: {}, held: [], tokens: {}, maps: {} });
}

function resultWithin(turn: Turn): { readonly result: string; readonly excess: Failure | null } {
  try {
    return { result: resultOf(turn, turn.program.result), excess: null };
  } catch (error) {
    if (!(error instanceof Excess)) throw error;
    return { result: error.failure.message, excess: error.failure };
  }
}

/** Throws an Excess before it builds a text that is too long. */
function resultOf(turn: Turn, rule: ResultRule): string {
  if (rule.take === "RESULT") return turn.state.variables.RESULT ?? "";
  const fits = (length: number) => allow(length, turn.state.bounds, "The result");
  const texts: string[] = [];
  const jsons: string[] = [];
  let together = 0;
  // A value that one operand removes from a list is gone for the next operand. The run's own lists do not change.
  let { state } = turn;
  for (const operand of rule.of) {
    const value = resolve(operand, { ...scopeOf(turn), state });
    const text = value.text ?? "";
    together += text.length + 2;
    fits(together);
    texts.push(text);
    if (rule.json) jsons.push(jsonOf(operand, value.text, state, fits));
    if (value.lists !== null) state = { ...state, lists: value.lists };
  }
  const [only] = rule.of;
  const single = rule.of.length === 1 && rule.each !== true;
  const asJson = rule.json && !(single && only?.from !== "all");
  if (asJson) fits(jsons.reduce((sum, json) => sum + json.length + 1, 1));
  const joined = asJson
    ? single
      ? (jsons[0] ?? "")
      : `[${jsons.join(",")}]`
    : single
      ? (texts[0] ?? "")
      : texts.map((text) => `${text} \n`).join("");
  if (asJson && rule.postJson !== true) return joined;
  return rule.post.reduce((text, post) => {
    fits(postLength(text, post));
    return postProcess(text, post);
  }, joined);
}

/** Returns a length that is at least the length of the result of `postProcess`, and at most three times as long. */
function postLength(text: string, rule: PostRule): number {
  switch (rule.do) {
    case "replace":
      return text.length + Math.max(0, rule.by.length - rule.what.length) * countOf(text, rule.what);
    case "append":
    case "prepend":
      return text.length + rule.text.length;
    case "toLower":
    case "toUpper":
      return text.length;
    default:
      return 0;
  }
}

/** Counts the same matches that `replaceAll` would replace. */
function countOf(text: string, what: string): number {
  if (what === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + what.length)) count += 1;
  return count;
}

/**
 * A list becomes a JSON list. A text that is already JSON stays unchanged, digits included. Other text becomes a JSON string, and a missing
 * value becomes null.
 */
function jsonOf(operand: Operand, text: string | null, { lists }: RunState, fits: (length: number) => void): string {
  if (text === null) return "null";
  const items = operand.from === "all" ? (own(lists, operand.list) ?? []) : null;
  fits((items ?? [text]).reduce((sum, item) => sum + jsonLength(item) + 3, 2));
  return items === null ? jsonText(text) : `[${items.map(jsonText).join(",")}]`;
}

function jsonText(text: string): string {
  try {
    parseShallow(text);
    return text.trim();
  } catch {
    return JSON.stringify(text);
  }
}

function postProcess(text: string, rule: PostRule): string {
  switch (rule.do) {
    case "replace":
      return text.replaceAll(rule.what, () => rule.by);
    case "append":
      return text + rule.text;
    case "prepend":
      return rule.text + text;
    case "trim":
      return text.trim();
    case "trimStart":
      return text.trimStart();
    case "trimEnd":
      return text.trimEnd();
    case "toLower":
      return text.toLowerCase();
    case "toUpper":
      return text.toUpperCase();
  }
}
