/**
 * One table with the properties of every kind of work. All code that distinguishes kinds, including SQL, reads this table. A new kind does
 * not compile until it has all properties.
 */
import type { Work, WorkKind } from "./activity.ts";
import type { WorkQueue } from "./job-spec.ts";
import type { Node, NodeKind } from "./program.ts";

interface WorkAnswers {
  /**
   * Whether a worker must claim it with a lease, so that it is never done twice at once or too late. Work that acts outside, or on the
   * files of a session, needs a lease. Other work is pure or only waits, and a worker only reads its row. reading: a lease is needed if the
   * work reads a file.
   */
  readonly leased: "always" | "reading" | "never";
  /** After it has begun, it may have changed something outside. A worker that shuts down must not simply release it. */
  readonly actsOutside: boolean;
  /**
   * Whether it may be repeated automatically if it is unknown whether it was done. A second model call costs money but changes nothing; a
   * second action may change something.
   */
  readonly safeToRepeat: boolean | ((node: Node) => boolean);
  /**
   * It has the same result each time, independent of models, people and commands. A fork that repeats a failure starts before such work.
   */
  readonly pure: boolean;
  /**
   * Whether it changes the files of the run's session. writing: if it writes a file. in session: unless it runs in a session of its own.
   */
  readonly changesFiles: "never" | "writing" | "in session";
  /** What its row waits for instead of a worker: from the start (a person's answer), or after it has begun (a called run). */
  readonly waitsFor: "answer" | "callee" | null;
}

/** The work of this kind that needs only its run. Such an inline activity has no row of its own. */
interface Inline<Kind extends Work> {
  readonly work: Kind;
  readonly is: (work: Kind) => boolean;
}

/** Inline work waits in the queue `control`. The view `open_activities` states the same. */
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
  // A tool call has a row of its own, begun before the call and ended after it (packages/store/src/calls/tool-calls.ts). That row, not the
  // activity, decides whether the call may be repeated.
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
  // Passages are inserted once per activity and position, even if the insert is repeated.
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

/** Lists the kinds with this property. */
export function kindsWhere(fits: (answers: WorkKinds[WorkKind]) => boolean): readonly WorkKind[] {
  return (Object.keys(table) as WorkKind[]).filter((kind) => fits(table[kind]));
}

export function isLeased(work: Work): boolean {
  const { leased } = table[work.kind];
  return leased === "always" || (leased === "reading" && "read" in work && work.read !== null);
}

/** Returns null if the work needs more than its run. */
export function inlineKindOf(work: Work): InlineKind | null {
  const { inline } = table[work.kind] as Placed<Work>;
  return inline?.is(work) ? (work.kind as InlineKind) : null;
}

/** The work of an inline activity. */
export function inlineWork(kind: InlineKind): Work {
  return workKinds[kind].inline.work;
}

/**
 * The kind of work that a visit of a node requests. null: none, the node is passed inside a step. each: the kind that its items request.
 */
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
