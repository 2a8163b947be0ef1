/** Budgets over random trees of runs: calls reserve, end and are refused in any order, and no run exceeds its limit. */

import { openRunBudget } from "@markmill/store/machine";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { defaultTenant, openStore, releaseReservation, type Store, settleReservation } from "../support/store.ts";

let database: TestDatabase;
/** Two processes that share only the database. */
let stores: readonly [Store, Store];
beforeAll(async () => {
  database = await freshDatabase();
  const open = (worker: string) => openStore({ url: database.url, worker });
  stores = [await open("one"), await open("two")];
});
afterAll(async () => {
  for (const store of stores ?? []) await store.close();
  await database?.drop();
});

const cap = fc.option(fc.integer({ min: 0, max: 400 }), { freq: 2 });
/** `parent`: an earlier run. `aside`: the part of its money for its handlers. */
const runs = fc.array(fc.record({ parent: fc.nat(20), money: cap, tokens: cap, characters: cap, aside: fc.nat(60) }), {
  minLength: 1,
  maxLength: 7,
});
const amount = fc.record({
  nanodollars: fc.integer({ min: 1, max: 60 }),
  tokens: fc.integer({ min: 1, max: 60 }),
  characters: fc.integer({ min: 1, max: 60 }),
});
const calls = fc.array(
  fc.record({
    run: fc.nat(20),
    want: amount,
    how: fc.constantFrom("settle", "release", "leave"),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 5, maxLength: 40 },
);

let drawn = 0;

it("spent and reserved costs below a run never exceed the limit of any run above", async () => {
  await fc.assert(
    fc.asyncProperty(runs, calls, async (tree, asked) => {
      drawn += 1;
      const idOf = (index: number) => `tree-${drawn}-${index}`;
      const pathOf = (index: number): number[] =>
        index === 0 ? [0] : [index, ...pathOf((tree[index]?.parent ?? 0) % index)];
      const asideOf = (index: number) =>
        tree[index]?.money == null ? 0 : Math.min(tree[index]?.aside ?? 0, tree[index]?.money ?? 0);
      const outerOf = (index: number) =>
        pathOf(index)
          .slice(1)
          .reduce((sum, above) => sum + asideOf(above), 0);
      for (const [index, { money, tokens, characters }] of tree.entries()) {
        const outer = { nanodollars: outerOf(index), tokens: 0 };
        const limits = { nanodollars: money, tokens, characters };
        await openRunBudget(stores[0].database, defaultTenant, idOf(index), limits, outer);
      }
      const used = tree.map(() => ({ nanodollars: 0, tokens: 0, characters: 0 }));
      await Promise.all(
        asked.map(async ({ run, want, how, part }, number) => {
          const store = stores[number % 2 === 0 ? 0 : 1];
          const index = run % tree.length;
          const call = { activityId: drawn * 1_000 + number, callIndex: 0, claim: 1 };
          const leave = { nanodollars: outerOf(index) + asideOf(index), tokens: 0 };
          const budgets = pathOf(index).map(idOf);
          const reserved = await store.reserve({ tenant: defaultTenant, call, budgets, want, leave, charge: null });
          if (reserved.kind === "refused") {
            expect(reserved.ofRun).toBe(true);
            expect(budgets).toContain(reserved.budget.id);
            return;
          }
          if (how === "release") return await releaseReservation(store.database, call);
          const share = how === "settle" ? part : 1;
          const spent = { nanodollars: Math.floor(want.nanodollars * share), tokens: Math.floor(want.tokens * share) };
          if (how === "settle") await settleReservation(store.database, call, spent);
          for (const above of pathOf(index)) {
            const sums = used[above];
            if (sums === undefined) continue;
            sums.nanodollars += spent.nanodollars;
            sums.tokens += spent.tokens;
            sums.characters += want.characters;
          }
        }),
      );
      for (const [index, { money, tokens, characters }] of tree.entries()) {
        const sums = used[index];
        const least = money === null ? 0 : asideOf(index);
        expect(sums?.nanodollars).toBeLessThanOrEqual((money ?? Number.POSITIVE_INFINITY) - least);
        expect(sums?.tokens).toBeLessThanOrEqual(tokens ?? Number.POSITIVE_INFINITY);
        expect(sums?.characters).toBeLessThanOrEqual(characters ?? Number.POSITIVE_INFINITY);
      }
    }),
    { numRuns: 25 },
  );
});
