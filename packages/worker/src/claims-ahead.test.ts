import type { Claimed } from "@markmill/store/machine";
import { expect, it } from "vitest";
import { createClaimsAhead } from "./claims-ahead.ts";

const claimOf = (id: number) => ({ activity: { id, epoch: 1, ref: { attempt: 1 } } }) as unknown as Claimed;
const deliveryOf = (activityId: number, more = {}) => ({ activityId, epoch: 1, attempt: 1, ...more });

it("a claim ahead is taken once, by the delivery it is for", () => {
  const claims = createClaimsAhead(1_000, () => 0);
  claims.keep(claimOf(1), 0);
  claims.keep(claimOf(2), 0);
  expect(claims.take(deliveryOf(3))).toBeNull();
  expect(claims.take(deliveryOf(2))?.claimed.activity.id).toBe(2);
  expect(claims.take(deliveryOf(2))).toBeNull();
  claims.drop(1);
  expect(claims.take(deliveryOf(1))).toBeNull();
});

it("a claim ahead of another epoch or attempt is nobody's", () => {
  const claims = createClaimsAhead(1_000, () => 0);
  for (const other of [{ epoch: 2 }, { attempt: 2 }]) {
    claims.keep(claimOf(1), 0);
    expect(claims.take(deliveryOf(1, other))).toBeNull();
    expect(claims.take(deliveryOf(1))).toBeNull();
  }
});

it("a claim ahead whose lease may be over is not taken", () => {
  let now = 0;
  const claims = createClaimsAhead(1_000, () => now);
  claims.keep(claimOf(1), 0);
  claims.keep(claimOf(2), 500);
  now = 1_200;
  claims.keep(claimOf(3), now);
  expect(claims.take(deliveryOf(1))).toBeNull();
  expect(claims.take(deliveryOf(2))?.asked).toBe(500);
  expect(claims.take(deliveryOf(3))?.asked).toBe(1_200);
});
