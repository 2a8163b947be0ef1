import { StoreError } from "@markmill/store";
import type { Activity, LoadedRun, Machine } from "@markmill/store/machine";
import { describe, expect, it } from "vitest";
import { budgetOf } from "./model-ports.ts";

const run = { id: "r", rootId: "r", tenant: "t", budgets: ["r"] } as unknown as LoadedRun;
const key = { activityId: "7", callIndex: 0, requestHash: "h" };
const worst = { promptTokens: 3, completionTokens: 4, nanodollars: 5 };
const cut = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

/** A store whose connection breaks once, after the statement and before its answer. */
function breaking(claim: number) {
  const asked: string[] = [];
  const act = (what: string) => {
    asked.push(what);
    if (asked.filter((one) => one === what).length === 1) throw cut();
  };
  const machine = {
    database: {
      hot: {
        async query({ name }: { readonly name: string }) {
          act(name);
          return { rows: [] };
        },
      },
    },
    async reserve(wanted: { readonly call: object }) {
      try {
        act(`reserve ${JSON.stringify(wanted.call)}`);
      } catch (error) {
        throw new StoreError("STORE_UNREACHABLE", "cut", { cause: error });
      }
      return { kind: "reserved" };
    },
  } as unknown as Machine;
  const activity = { id: 7, claim, work: { kind: "prompt" } } as unknown as Activity;
  return { asked, budget: budgetOf(machine, run, activity) };
}

describe("a database connection that breaks before the answer", () => {
  it("a lost reservation is repeated under the same claim, so that it does not look like that of a lost worker", async () => {
    const { asked, budget } = breaking(1);
    expect(await budget.reserve(key, worst, { model: "m", characters: 2 })).toEqual({ ok: true });
    expect(asked).toEqual(Array(2).fill('reserve {"activityId":7,"callIndex":0,"claim":1}'));
  });

  it("a lost settlement of another worker's reservation is repeated before a new reservation", async () => {
    const { asked, budget } = breaking(2);
    expect(await budget.reserve(key, worst, { model: "m", characters: 2 })).toEqual({ ok: true });
    expect(asked.slice(0, 2)).toEqual(["settle-left", "settle-left"]);
  });

  it("a lost release or settlement is repeated, so that no later claim books the worst case", async () => {
    const { asked, budget } = breaking(1);
    await budget.release(key);
    await budget.settle(key, { ...worst, certain: true });
    expect(asked).toEqual(["release", "release", "settle", "settle"]);
  });
});
