import { expect, it } from "vitest";
import { createLeaseTable, readLeaseTable } from "./lease-table.ts";

it("an entry of the lease table is visible until it is removed, and its place is used again", () => {
  const table = createLeaseTable();
  for (let id = 1; id <= 10_000; id++) {
    expect(table.put(id, id + 1)).toBe(true);
    if (id > 2) table.take(id - 2);
  }
  expect(readLeaseTable(table.memory).held.toSorted((a, b) => a.id - b.id)).toEqual([
    { id: 9_999, claim: 10_000 },
    { id: 10_000, claim: 10_001 },
  ]);
});

it("an activity that is claimed again keeps one place, with the newer claim", () => {
  const table = createLeaseTable();
  table.put(7, 1);
  table.put(7, 2);
  table.take(8);
  expect(readLeaseTable(table.memory).held).toEqual([{ id: 7, claim: 2 }]);
});

it("a full lease table refuses entries until one is removed", () => {
  const table = createLeaseTable();
  let id = 1;
  while (table.put(id, 1)) id += 1;
  expect(readLeaseTable(table.memory).held).toHaveLength(id - 1);
  table.take(1);
  expect(table.put(id, 1)).toBe(true);
});

it("the lease thread sees whether the main loop has turned", () => {
  const table = createLeaseTable();
  const { tick } = readLeaseTable(table.memory);
  expect(readLeaseTable(table.memory).tick).toBe(tick);
  table.tick();
  expect(readLeaseTable(table.memory).tick).not.toBe(tick);
});
