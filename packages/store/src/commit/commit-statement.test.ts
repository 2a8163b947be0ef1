import { expect, it } from "vitest";
import { commitStatement } from "./commit-statement.ts";
import { type CommitRows, type MoveRow, noRows } from "./rows.ts";

const move: MoveRow = { id: "r", rev: 1, from_epoch: 1, steps: 1, type: "activity.succeeded", at: 1 };
const inline: MoveRow = { ...move, inline_id: 1, inline_kind: "set", asked_at: 1 };
const borne: MoveRow = { ...move, activity: 1, claim: 1, settles: true };
const ended: MoveRow = { ...move, epoch: 1, status: "success", phase: "ended", ended: true };

function statement(moved: MoveRow, more: Partial<CommitRows> = {}) {
  const rows = { ...noRows(), moves: [moved], states: ["{}"], bodies: ["{}"], inlines: [""], rares: [""], ...more };
  return commitStatement(rows, JSON.stringify);
}

it("a commit statement contains only the columns that its group needs", () => {
  const parameters = [move, inline, borne, ended].map((moved) => statement(moved).values.length);
  expect(parameters).toEqual([9, 12, 12, 14]);
  expect(new Set([move, inline, borne, ended].map((moved) => statement(moved).name)).size).toBe(4);
});

it("all groups with rare parts share one commit statement, because each plan takes 0.3 MB per connection", () => {
  const warnings = [{ n: 1, seq: 2, part: 1, at: 1, body: {} }];
  expect(new Set([move, inline, borne, ended].map((moved) => statement(moved, { warnings }).name)).size).toBe(1);
});
