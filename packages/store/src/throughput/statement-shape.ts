/**
 * Decides which parts a commit statement has: it leaves out what a group of events does not need.
 *
 * Gains: half of the cost of a statement is its parts, even if they write few rows. On the other hand, every combination of parts is a plan
 * of 0.3 MB on every connection. Therefore parts that are seldom needed share one set of columns. The whole was not measured alone. Without
 * it: every statement would have all parts, with empty lists for those it does not need (one shape).
 */
import { workKinds } from "@markmill/engine";
import type { CommitRows } from "../commit/rows.ts";

export interface Shape {
  readonly moves: boolean;
  /** Some run changes its epoch, status or phase. */
  readonly changesStatus: boolean;
  /** Some event was brought by an activity that has a row. */
  readonly borne: boolean;
  /** Some event was brought by an inline activity. */
  readonly inline: boolean;
  readonly settles: boolean;
  readonly aborts: boolean;
  readonly ends: boolean;
  readonly rare: boolean;
  readonly creations: boolean;
  readonly called: boolean;
  /** Some created run has an idempotency key. */
  readonly keyed: boolean;
  /** Some created run has an entry in the audit log. */
  readonly audited: boolean;
  /** Some created run is queued. */
  readonly queued: boolean;
  readonly lists: readonly ListName[];
}

export type ListName = "next" | "retries" | "voids" | "warnings" | "variables" | "messages" | "returns" | "asks";

const seldomLists: ReadonlySet<ListName> = new Set(["retries", "voids", "warnings", "returns", "asks"]);

interface UsedList {
  readonly name: ListName;
  readonly rows: readonly unknown[];
}

/** In the order of their parameters. */
export function usedLists(rows: CommitRows): readonly UsedList[] {
  const asking = rows.next.some((row) => workKinds[row.kind].waitsFor === "answer");
  const aborts = rows.moves.some((row) => row.aborts);
  const lists: readonly (UsedList & { readonly needed?: boolean })[] = [
    // The abort part depends on the new activities of the same event. The part for questions to people depends on `next`.
    { name: "next", rows: rows.next, needed: aborts || asking || rows.closedAsks.length > 0 },
    { name: "retries", rows: rows.retries },
    { name: "voids", rows: rows.voids },
    { name: "warnings", rows: rows.warnings },
    { name: "variables", rows: rows.variables },
    { name: "messages", rows: rows.messages },
    { name: "returns", rows: rows.returns },
    { name: "asks", rows: rows.closedAsks, needed: asking },
  ];
  return lists.filter((list) => list.rows.length > 0 || list.needed);
}

export function shapeOf(rows: CommitRows, lists: readonly UsedList[]): Shape {
  const { moves, creations } = rows;
  const aborts = moves.some((row) => row.aborts);
  const called = creations.some((row) => row.parent_activity_id !== null);
  const seldom = called || aborts || lists.some(({ name }) => seldomLists.has(name));
  const full = seldom && moves.length > 0;
  return {
    moves: moves.length > 0,
    changesStatus: full || moves.some((row) => row.status !== undefined),
    borne: full || moves.some((row) => row.activity !== undefined),
    inline: full || moves.some((row) => row.inline_id !== undefined),
    settles: full || moves.some((row) => row.settles),
    aborts,
    ends: full || moves.some((row) => row.ended),
    rare: full || rows.rares.some((text) => text !== ""),
    creations: creations.length > 0,
    called,
    keyed: creations.some((row) => row.idempotency_key !== null),
    audited: creations.some((row) => row.audit !== null),
    queued: creations.some((row) => row.queued),
    lists: lists.map((list) => list.name),
  };
}

/** Names the shape among all others. */
export function combinationOf(shape: Shape): string {
  const { lists, ...flags } = shape;
  const set = Object.entries(flags).flatMap(([flag, value]) => (value ? [flag] : []));
  return [...set, ...lists].join("-");
}
