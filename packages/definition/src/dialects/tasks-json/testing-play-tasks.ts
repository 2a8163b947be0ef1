/** Plays workflows of tasks in tests with the engine alone: no clock, no queue, no store. Every reply arrives at once. */
import {
  type ActivityRef,
  type Event,
  initialState,
  type Program,
  type RunState,
  step,
  type Work,
} from "@markmill/engine";
import { loadDefinition } from "../../load-definition.ts";

export interface Asked {
  readonly task: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

export function compileText(text: string): Program {
  const bytes = new TextEncoder().encode(text);
  const { definition, findings } = loadDefinition({ read: () => bytes }, "random.json");
  const program = definition?.programs["random.json"];
  if (program === undefined) throw new Error(JSON.stringify(findings.filter(({ severity }) => severity === "error")));
  return program;
}

/** The n-th reply of the model; null means a failure. */
export type Replies = (call: number, messages: Asked["messages"]) => string | null;

/** Plays a program with immediate replies. All other requested work is done without a result. */
export function playTasks(program: Program, input: string | null, replies: Replies, works: Work[] = []) {
  const asked: Asked[] = [];
  const performed: string[] = [];
  const samples: string[][] = [];
  const events: Event[] = [];
  let state: RunState = initialState;
  let result = "";
  let open: { readonly activity: ActivityRef; readonly work: Work } | null = null;
  const apply = (event: Event) => {
    events.push(event);
    const { state: next, commands } = step(program, state, event);
    state = next;
    open = null;
    for (const command of commands) {
      if (command.do === "end") result = command.result;
      if (command.do !== "perform") continue;
      if (open !== null) throw new Error("two activities at once");
      open = command;
      performed.push(command.activity.node);
      works.push(command.work);
    }
  };
  const variables = input === null ? {} : { __input: input };
  const started = { at: 1, seed: 1, run: "r", variables, environment: {}, caps: {}, caller: null };
  apply({ type: "run.started", ...started });
  for (let at = 2; open !== null; at++) {
    const { activity, work }: { activity: ActivityRef; work: Work } = open;
    const base = { at, seed: at, epoch: state.epoch, activity, usage: null };
    if (work.kind === "prompt") {
      const opening = (work.opening ?? []).map(({ role, text }) => ({ role, content: text }));
      const messages = [...opening, { role: "user", content: work.text }];
      const reply = replies(asked.length, messages);
      asked.push({ task: activity.node, messages });
      if (reply === null) {
        const failure = { code: "SCRIPTED", message: "scripted" };
        apply({ type: "activity.failed", ...base, failure, next: "fail", retryAfterMs: null });
      } else apply({ type: "activity.succeeded", ...base, outcome: { kind: "replied", text: reply } });
    } else {
      const reads = Object.entries(Object.values(state.active)[0]?.reads ?? {});
      if (work.kind === "assign") samples.push(reads.filter(([name]) => name.includes(" ")).map(([, text]) => text));
      apply({ type: "activity.succeeded", ...base, outcome: { kind: "done" } });
    }
  }
  return { state, result, asked, performed, samples, events };
}
