/**
 * What is asked of every kind of work, answered once. Whoever treats kinds differently, in SQL too, takes the answer from here: a new kind
 * does not compile until it has all of them.
 */
import type { Work, WorkKind } from "./activity.ts";
import type { WorkQueue } from "./job-spec.ts";
import type { Node, NodeKind } from "./program.ts";

interface WorkAnswers {
  /**
   * Is it claimed, under a lease, so that nobody does it twice at a time or late? What reaches outside or into the files of a session is.
   * The rest is pure or only waits; it is read. reading: where it reads a file.
   */
  readonly leased: "always" | "reading" | "never";
  /** Once begun, it may have changed something outside: it is not simply given back by a worker that goes. */
  readonly actsOutside: boolean;
  /** May it be done again by itself when nobody knows whether it was done? Asking a model twice costs, and changes nothing; acting twice may. */
  readonly safeToRepeat: boolean | ((node: Node) => boolean);
  /** It comes to the same each time, whatever models, people and commands do: a fork that repeats what failed goes back before it. */
  readonly pure: boolean;
  /** Does it change the files of the run's session? writing: where it writes one. in session: unless it runs in a session of its own. */
  readonly changesFiles: "never" | "writing" | "in session";
  /** What its row waits for instead of a worker: from the start (an answer of a person), or once it has begun (a called run). */
  readonly waitsFor: "answer" | "callee" | null;
}

/** The work of this kind that needs nothing but its run; such an activity has no row of its own. */
interface Inline<Kind extends Work> {
  readonly work: Kind;
  readonly is: (work: Kind) => boolean;
}

/** What is inline waits in the queue `control`: the view `open_activities` says so too. */
type Placed<Kind extends Work> =
  | { readonly queue: WorkQueue; readonly inline: null }
  | { readonly queue: "control"; readonly inline: Inline<Kind> };

type WorkKinds = { readonly [Kind in WorkKind]: WorkAnswers & Placed<WorkOf<Kind>> };
type WorkOf<Kind extends WorkKind> = Extract<Work, { readonly kind: Kind }>;

export const workKinds = {
  check: {
    queue: "control",
    leased: "always",
    inline: { work: { kind: "check", read: [] }, is: ({ read }) => read.length === 0 },
    actsOutside: false,
    safeToRepeat: true,
    pure: true,
    changesFiles: "never",
    waitsFor: null,
  },
  set: {
    queue: "control",
    leased: "always",
    inline: {
      work: { kind: "set", read: null, write: null },
      is: ({ read, write }) => read === null && write === null,
    },
    actsOutside: false,
    safeToRepeat: true,
    pure: true,
    changesFiles: "writing",
    waitsFor: null,
  },
  assign: {
    queue: "control",
    leased: "always",
    inline: { work: { kind: "assign", read: null }, is: ({ read }) => read === null },
    actsOutside: false,
    safeToRepeat: true,
    pure: true,
    changesFiles: "never",
    waitsFor: null,
  },
  note: {
    queue: "control",
    leased: "reading",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: true,
    changesFiles: "never",
    waitsFor: null,
  },
  prompt: {
    queue: "prompt",
    leased: "always",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: null,
  },
  execute: {
    queue: "execute",
    leased: "always",
    inline: null,
    actsOutside: true,
    safeToRepeat: (node) => node.kind === "execute" && node.repeat === "safe",
    pure: false,
    changesFiles: "in session",
    waitsFor: null,
  },
  grade: {
    queue: "prompt",
    leased: "always",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: null,
  },
  ask: {
    queue: "control",
    leased: "never",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: "answer",
  },
  call: {
    queue: "control",
    leased: "never",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: "callee",
  },
  // What a tool did is a row of its own, begun before and ended after (packages/store/src/calls/tool-calls.ts): that row, not the activity, says
  // whether it may be repeated.
  tool: {
    queue: "prompt",
    leased: "always",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: null,
  },
  // Passages are inserted once per activity and position, whoever repeats it.
  memory: {
    queue: "prompt",
    leased: "always",
    inline: null,
    actsOutside: false,
    safeToRepeat: true,
    pure: false,
    changesFiles: "never",
    waitsFor: null,
  },
} as const satisfies WorkKinds;

export type InlineKind = {
  [Kind in WorkKind]: (typeof workKinds)[Kind]["inline"] extends null ? never : Kind;
}[WorkKind];

const table: WorkKinds = workKinds;

/** Kinds with this answer. */
export function kindsWhere(fits: (answers: WorkKinds[WorkKind]) => boolean): readonly WorkKind[] {
  return (Object.keys(table) as WorkKind[]).filter((kind) => fits(table[kind]));
}

export function isLeased(work: Work): boolean {
  const { leased } = table[work.kind];
  return leased === "always" || (leased === "reading" && "read" in work && work.read !== null);
}

/** null: it needs more than its run. */
export function inlineKindOf(work: Work): InlineKind | null {
  const { inline } = table[work.kind] as Placed<Work>;
  return inline?.is(work) ? (work.kind as InlineKind) : null;
}

/** The work of an inline activity. */
export function inlineWork(kind: InlineKind): Work {
  return workKinds[kind].inline.work;
}

/** What a visit of a node asks for; null: nothing, it is passed inside a step. each: what its items ask for. */
const nodeWork = {
  start: null,
  prompt: "prompt",
  execute: "execute",
  grade: "grade",
  check: "check",
  set: "set",
  assign: "assign",
  ask: "ask",
  call: "call",
  tool: "tool",
  memory: "memory",
  evaluate: "prompt",
  map: "each",
  join: null,
  select: "prompt",
  splice: "prompt",
  end: null,
} as const satisfies Record<NodeKind, WorkKind | "each" | null>;

export function isSafeToRepeat(node: Node): boolean {
  const kind = node.kind === "map" ? node.each.kind : nodeWork[node.kind];
  const answer = kind === null ? true : table[kind].safeToRepeat;
  return typeof answer === "function" ? answer(node) : answer;
}
