import type { ClaimedAhead } from "@markmill/store/machine";
import { expect, it } from "vitest";
import { createClaimsAhead } from "./claims-ahead.ts";

const claimedAhead = (id: number, asked = 0) =>
  ({ claimed: { activity: { id, epoch: 1, ref: { attempt: 1 } } }, asked }) as unknown as ClaimedAhead;
const deliveryOf = (activityId: number, more = {}) => ({ activityId, epoch: 1, attempt: 1, ...more });

it("a claim ahead is used once, by its own delivery", () => {
  const claims = createClaimsAhead(1_000, () => 0);
  claims.keep(claimedAhead(1));
  claims.keep(claimedAhead(2));
  expect(claims.take(deliveryOf(3))).toBeNull();
  expect(claims.take(deliveryOf(2))?.claimed.activity.id).toBe(2);
  expect(claims.take(deliveryOf(2))).toBeNull();
});

it("a claim ahead that was used or dropped cannot be dropped again", () => {
  const claims = createClaimsAhead(1_000, () => 0);
  claims.keep(claimedAhead(1));
  claims.keep(claimedAhead(2));
  expect(claims.drop(1)).toBe(true);
  expect(claims.take(deliveryOf(1))).toBeNull();
  claims.take(deliveryOf(2));
  expect(claims.drop(2)).toBe(false);
});

it("a claim ahead does not match a delivery of another epoch or attempt", () => {
  const claims = createClaimsAhead(1_000, () => 0);
  for (const other of [{ epoch: 2 }, { attempt: 2 }]) {
    claims.keep(claimedAhead(1));
    expect(claims.take(deliveryOf(1, other))).toBeNull();
    expect(claims.take(deliveryOf(1))).toBeNull();
  }
});

it("matching claims ahead can be forgotten, and a claim whose delivery never arrives is forgotten after its lease", () => {
  let now = 0;
  const claims = createClaimsAhead(1_000, () => now);
  for (const id of [1, 2, 3]) claims.keep(claimedAhead(id, id * 100));
  claims.forget(({ activity }) => activity.id === 2);
  expect(claims.take(deliveryOf(2))).toBeNull();
  now = 2_200;
  claims.keep(claimedAhead(4, now));
  expect(claims.take(deliveryOf(1))).toBeNull();
  expect(claims.take(deliveryOf(3))?.asked).toBe(300);
});
