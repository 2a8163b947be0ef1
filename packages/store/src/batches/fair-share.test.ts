import { expect, it } from "vitest";
import { fairShare, type Sharer } from "./fair-share.ts";

const batch = (id: string, more: Partial<Sharer>): Sharer => ({
  id,
  tenant: "one",
  inFlight: 0,
  held: 0,
  waiting: 0,
  concurrency: 1_000,
  ...more,
});

it("a single batch gets every slot, up to its concurrency and its number of submissions", () => {
  expect([...fairShare([batch("a", { waiting: 500 })], { most: 8 })]).toEqual([["a", 8]]);
  expect([...fairShare([batch("a", { waiting: 500, concurrency: 3, inFlight: 1 })], { most: 9 })]).toEqual([["a", 2]]);
  expect([...fairShare([batch("a", { waiting: 2 })], { most: 8 })]).toEqual([["a", 2]]);
});

it("a small batch that arrives later does not wait behind a large one", () => {
  const shares = fairShare([batch("large", { waiting: 460, inFlight: 6 }), batch("small", { waiting: 5 })], {
    most: 8,
  });
  expect([...shares]).toEqual([["small", 2]]);
});

it("slots that one batch cannot use go to the other", () => {
  const shares = fairShare([batch("large", { waiting: 500 }), batch("small", { waiting: 1 })], { most: 8 });
  expect(shares.get("small")).toBe(1);
  expect(shares.get("large")).toBe(7);
});

it("a tenant with many batches gets no more than a tenant with one batch", () => {
  const many = Array.from({ length: 9 }, (_, index) => batch(`many-${index}`, { tenant: "many", waiting: 50 }));
  const shares = fairShare([...many, batch("single", { tenant: "single", waiting: 50 })], { most: 10 });
  expect(shares.get("single")).toBe(5);
});

it("without submissions or without slots, no run starts", () => {
  expect(fairShare([batch("a", { waiting: 0 })], { most: 8 }).size).toBe(0);
  expect(fairShare([batch("a", { waiting: 9 })], { most: 0 }).size).toBe(0);
  expect(fairShare([batch("a", { waiting: 9 })], { most: -3 }).size).toBe(0);
  expect(fairShare([], { most: 8 }).size).toBe(0);
});

const ten = (more: Partial<Sharer> = {}) =>
  Array.from({ length: 10 }, (_, index) => batch(`ten-${index}`, { tenant: "ten", waiting: 50, ...more }));
const sumOf = (shares: ReadonlyMap<string, number>, prefix: string) =>
  [...shares].reduce((sum, [id, share]) => sum + (id.startsWith(prefix) ? share : 0), 0);

it("a tenant with ten batches that came first gives up every freed slot until both tenants have the same number", () => {
  // Ten batches hold all 20 slots; six of their submissions end.
  const after = [...ten({ inFlight: 2 }).slice(0, 7), ...ten().slice(7)];
  const shares = fairShare([...after, batch("one", { tenant: "other", waiting: 50 })], { most: 20 });
  expect([sumOf(shares, "ten"), sumOf(shares, "one")]).toEqual([0, 6]);
});

it("a tenant never exceeds its share, whatever its number of batches, and slots stay free for tenants that come later", () => {
  const first = fairShare(ten(), { most: 20, mostOfTenant: 15 });
  expect(sumOf(first, "ten")).toBe(15);
  expect(Math.max(...first.values()) - Math.min(...first.values())).toBeLessThanOrEqual(1);
  const full = ten().map((one) => ({ ...one, inFlight: first.get(one.id) ?? 0 }));
  const then = fairShare([...full, batch("one", { tenant: "other", waiting: 50 })], { most: 20, mostOfTenant: 15 });
  expect([sumOf(then, "ten"), sumOf(then, "one")]).toEqual([0, 5]);
});

it("runs that wait for a person do not use their tenant's share, but use a slot of their own batch", () => {
  const held = batch("held", { tenant: "a", inFlight: 6, held: 6, waiting: 9, concurrency: 8 });
  const other = batch("other", { tenant: "b", inFlight: 4, waiting: 9 });
  expect([...fairShare([held, other], { most: 8, mostOfTenant: 6 })]).toEqual([
    ["held", 2],
    ["other", 2],
  ]);
});
