// Decides which rule of a script answers a request. Pure: it receives the counters and returns new ones.
import { type Answer, fillTemplate, fillTexts, type Rule, type Script } from "./script.ts";

export interface ScriptedMessage {
  readonly role: string;
  readonly content: string;
}

export interface ScriptedRequest {
  readonly model: string;
  readonly messages: readonly ScriptedMessage[];
}

/** A tool call as it is sent. Without an id, the server generates one. */
export interface SentCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: string;
}

/**
 * The number of requests so far that met a rule's conditions, by rule. Requests that an earlier rule answered count only for a rule with
 * `nth`.
 */
export type RuleCounts = ReadonlyMap<string, number>;

export type ScriptMatch =
  | {
      readonly kind: "matched";
      readonly rule: string;
      readonly n: number;
      readonly answer: Answer;
      readonly text: string;
      readonly calls: readonly SentCall[];
    }
  /** One line per rule with the reason why it did not answer. */
  | { readonly kind: "unmatched"; readonly reasons: readonly string[] };

const DEFAULT_RULE = "default";

export function matchScript(
  script: Script,
  counts: RuleCounts,
  request: ScriptedRequest,
): { match: ScriptMatch; counts: RuleCounts } {
  const next = new Map(counts);
  const count = (name: string) => {
    const n = (next.get(name) ?? 0) + 1;
    next.set(name, n);
    return n;
  };
  const reasons: string[] = [];
  let match: ScriptMatch | null = null;
  for (const rule of script.rules) {
    if (match !== null && rule.when.nth === undefined) continue;
    const met = conditionsMet(rule, request);
    if (typeof met === "string") {
      reasons.push(`"${rule.name}": ${met}`);
      continue;
    }
    const n = count(rule.name);
    if (match !== null) continue;
    const { nth, times } = rule.when;
    if ((nth !== undefined && !nth.includes(n)) || (times !== undefined && n > times)) {
      reasons.push(
        `"${rule.name}": this is time ${n}, it answers ${times === undefined ? nth?.join(", ") : `1 to ${times}`}`,
      );
      continue;
    }
    match = matched(rule.name, rule.answer, n, request, met.groups);
  }
  if (match !== null) return { match, counts: next };
  if (script.otherwise === undefined) return { match: { kind: "unmatched", reasons }, counts: next };
  const n = count(DEFAULT_RULE);
  return { match: matched(DEFAULT_RULE, script.otherwise, n, request, new Map()), counts: next };
}

/** Returns the groups of the pattern, or the condition that is not met. */
function conditionsMet(rule: Rule, request: ScriptedRequest): { groups: ReadonlyMap<string, string> } | string {
  const { when } = rule;
  const last = request.messages.at(-1);
  if (when.model !== undefined && when.model !== request.model) return `the model is not ${when.model}`;
  if (when.role !== undefined && when.role !== last?.role) return `the last message is not of role ${when.role}`;
  const prompt = last?.content ?? "";
  const absent = when.text.find((text) => !prompt.includes(text));
  if (absent !== undefined) return `the last message does not contain ${JSON.stringify(absent)}`;
  const system = request.messages.flatMap(({ role, content }) => (role === "system" ? [content] : [])).join("\n");
  const absentSystem = when.system.find((text) => !system.includes(text));
  if (absentSystem !== undefined) return `no system message contains ${JSON.stringify(absentSystem)}`;
  const turn = request.messages.filter(({ role }) => role === "assistant").length + 1;
  if (when.turn !== undefined && when.turn !== turn)
    return `this is turn ${turn} of the conversation, not ${when.turn}`;
  if (when.pattern === undefined) return { groups: new Map() };
  const found = when.pattern.exec(prompt);
  if (found === null) return `the last message does not match ${when.pattern}`;
  const groups = new Map<string, string>();
  for (const [index, text] of found.entries()) groups.set(String(index), text ?? "");
  for (const [name, text] of Object.entries(found.groups ?? {})) groups.set(name, text ?? "");
  return { groups };
}

function matched(
  rule: string,
  answer: Answer,
  n: number,
  request: ScriptedRequest,
  groups: ReadonlyMap<string, string>,
): ScriptMatch {
  const template = answer.replies[Math.min(n, answer.replies.length) - 1] ?? "";
  const values = new Map([
    ["n", String(n)],
    ["prompt", request.messages.at(-1)?.content ?? ""],
    ["model", request.model],
    ...groups,
  ]);
  const fill = (text: string) => (answer.verbatim ? text : fillTemplate(text, values));
  const calls = answer.calls.map(({ id, name, arguments: given }) => {
    const filled = fillTexts(given, fill);
    return { id, name, arguments: typeof filled === "string" ? filled : JSON.stringify(filled) };
  });
  return { kind: "matched", rule, n, answer, text: fill(template), calls };
}
