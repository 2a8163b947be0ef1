// Small programs, one per behaviour of the store, and a minimal worker.
import type { Edge, Event, JobSpec, Node, Outcome, Program } from "@markmill/engine";
import { type Claim, type Committed, type Definition, drawSeed, type Store } from "../support/store.ts";

export function program(nodes: Record<string, Node>, edges: readonly Edge[], more: Partial<Program> = {}): Program {
  return {
    form: 1,
    dialect: "codementor",
    name: "tiny",
    description: "",
    params: [],
    prompts: {},
    nodes,
    edges,
    entry: [Object.keys(nodes)[0] ?? ""],
    handlers: { success: null, failed: null },
    agents: {},
    settings: {},
    sandbox: {},
    limits: { hits: 100, steps: 10_000, depth: 5, nanodollars: null, tokens: null, characters: null, timeMs: null },
    scheduling: "eager",
    lists: {},
    result: { take: "RESULT" },
    files: {},
    ...more,
  };
}

export function definition(programs: Record<string, Program>): Definition {
  const [root = ""] = Object.keys(programs);
  return {
    hash: `hash-${JSON.stringify(programs).length}-${root}-${Math.random()}`,
    dialect: "codementor",
    name: root,
    root,
    programs,
    files: {},
  };
}

const done: Node = { kind: "end", outcome: "success" };

/** Assignments in a row. */
export function chain(length: number): Program {
  const names = Array.from({ length }, (_, i) => `n${i}`);
  const nodes = Object.fromEntries(
    names.map((name, i): [string, Node] => [name, { kind: "assign", value: { from: "literal", text: `step ${i}` } }]),
  );
  const edges = names.map((from, i): Edge => ({ from, to: names[i + 1] ?? "end", on: "ok" }));
  return program({ ...nodes, end: done }, edges);
}

/** Two prompts that start together and do not wait for each other. */
export const twins = program(
  {
    left: { kind: "prompt", text: { from: "literal", text: "left?" }, agent: "left" },
    right: { kind: "prompt", text: { from: "literal", text: "right?" }, agent: "right" },
    both: { kind: "join", groups: { "": { mode: "all" } } },
    end: done,
  },
  [
    { from: "left", to: "both", on: "ok" },
    { from: "right", to: "both", on: "ok" },
    { from: "both", to: "end", on: "ok" },
  ],
  { entry: ["left", "right"] },
);

export const onePrompt = program({ say: { kind: "prompt", text: { from: "literal", text: "Hello" } }, end: done }, [
  { from: "say", to: "end", on: "ok" },
]);

export const oneAsk = program({ ask: { kind: "ask", question: "Which mark?" }, end: done }, [
  { from: "ask", to: "end", on: "ok" },
]);

export const oneCall = program({ call: { kind: "call", program: "callee" }, end: done }, [
  { from: "call", to: "end", on: "ok" },
]);

export async function claimed(store: Store, job: JobSpec): Promise<Extract<Claim, { kind: "claimed" }>> {
  const claim = await store.claim(job);
  if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${JSON.stringify(claim)}`);
  return claim;
}

export function succeeded(store: Store, { activity }: Extract<Claim, { kind: "claimed" }>, outcome: Outcome): Event {
  return {
    type: "activity.succeeded",
    at: store.clock.now(),
    seed: drawSeed(),
    epoch: activity.epoch,
    activity: activity.ref,
    outcome,
    usage: activity.usage,
  };
}

export async function perform(store: Store, job: JobSpec, outcome: Outcome = { kind: "done" }): Promise<Committed> {
  const claim = await claimed(store, job);
  return store.commit({ run: claim.run, source: claim.activity, event: succeeded(store, claim, outcome) });
}

/** The only job of the list. */
export function only(jobs: readonly JobSpec[]): JobSpec {
  const [job, ...more] = jobs;
  if (job === undefined || more.length > 0) throw new Error(`expected one job, got ${JSON.stringify(jobs)}`);
  return job;
}
