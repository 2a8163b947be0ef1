import { describe, expect, it } from "vitest";
import { cancelRun, createRun, getRun, listRuns, resumeRun, type Store, stopRun } from "../support/store.ts";
import { openTwoStores } from "../support/two-stores.ts";
import { end, finish, set } from "./inline-programs.ts";
import { chain, claimed, definition, only, perform, program } from "./store-programs.ts";

let store: Store;
/** A second process: it shares nothing with the first but the database. */
let other: Store;

openTwoStores((opened) => {
  ({ store, other } = opened);
});

describe("lists of runs", () => {
  it("are filtered by status, label and variable, newest first, page by page", async () => {
    const made = [];
    for (let i = 0; i < 5; i++) {
      made.push(
        await createRun(store, {
          definition: definition({ main: chain(1) }),
          labels: { list: "five" },
          variables: { STUDENT: i === 2 ? "Grace" : "Ada" },
        }),
      );
    }
    const first = await listRuns(store, { labels: { list: "five" }, status: ["doing"] }, { limit: 3 });
    expect(first.runs.map(({ id }) => id)).toEqual(
      made
        .slice(2)
        .map(({ runId }) => runId)
        .reverse(),
    );
    const second = await listRuns(store, { labels: { list: "five" } }, { limit: 3, after: first.next ?? "" });
    expect(second.runs.map(({ id }) => id)).toEqual([made[1]?.runId, made[0]?.runId]);
    expect(second.next).toBeNull();
    const grace = await listRuns(store, { labels: { list: "five" }, variables: { STUDENT: "Grace" } });
    expect(grace.runs.map(({ id }) => id)).toEqual([made[2]?.runId]);
    expect((await listRuns(store, { labels: { list: "five" }, status: ["failed"] })).runs).toEqual([]);
  });
});

describe("lists of runs by the value of a variable", () => {
  it("contain open, stopped and ended runs, by their current values", async () => {
    const main = program({ a: set("MARK", "B"), b: set("OTHER", "x"), end }, [
      { from: "a", to: "b", on: "ok" },
      { from: "b", to: "end", on: "ok" },
    ]);
    const long = "é".repeat(180);
    const { runId, jobs } = await createRun(store, {
      definition: definition({ main }),
      variables: { MARK: "A", LONG: `${long}1` },
    });
    const found = async (variables: Record<string, string>) =>
      (await listRuns(store, { variables })).runs.map(({ id }) => id).filter((id) => id === runId);
    const holds = async (mark: string, not: string) => {
      expect(await found({ MARK: mark, LONG: `${long}1` })).toEqual([runId]);
      expect(await found({ MARK: not })).toEqual([]);
      expect(await found({ LONG: `${long}2` })).toEqual([]);
    };
    await holds("A", "B");
    const second = only((await perform(store, only(jobs))).jobs);
    await holds("B", "A");
    await stopRun(store, runId);
    await holds("B", "A");
    expect(second.attempt).toBe(1);
    await finish(other, (await resumeRun(store, runId)).jobs);
    await holds("B", "A");
    expect(await found({ OTHER: "x", STATUS: "SUCCESS" })).toEqual([runId]);
    const { rows } = await store.database.calm.query("select distinct final from variables where run_id = $1", [runId]);
    expect(rows).toEqual([{ final: true }]);
  });

  it("find the current value in every place where it can be stored", async () => {
    const tag = `tag-${Math.random()}`;
    const [short, long] = [`${tag}-1`, `${tag}-${"x".repeat(200)}`];
    const main = program({ a: set("M", long), b: set("M", short), c: set("M", long), end }, [
      { from: "a", to: "b", on: "ok" },
      { from: "b", to: "c", on: "ok" },
      { from: "c", to: "end", on: "ok" },
    ]);
    const { runId, jobs } = await createRun(store, { definition: definition({ main }), variables: { M: short } });
    const found = async (value: string) => (await listRuns(store, { variables: { M: value } })).runs.length;
    const holds = async (value: string) => {
      expect([await found(short), await found(long)]).toEqual(value === short ? [1, 0] : [0, 1]);
      expect((await getRun(store.database, runId))?.variables).toMatchObject({ M: value });
    };
    let due = jobs;
    for (const value of [short, long, short]) {
      await holds(value);
      // The other process sees only what was written.
      expect((await claimed(other, only(due))).run.state.variables.M).toBe(value);
      due = (await perform(store, only(due))).jobs;
    }
    await holds(long);
    expect(await getRun(store.database, runId)).toMatchObject({ status: "success", variables: { M: long } });
  });

  it("contain runs that ended when they were created, and cancelled runs", async () => {
    const mark = `mark-${Math.random()}`;
    const born = await createRun(store, {
      definition: definition({ main: program({ end }, []) }),
      variables: { M: mark },
    });
    const open = await createRun(store, { definition: definition({ main: chain(1) }), variables: { M: mark } });
    await cancelRun(store, open.runId, "enough");
    const { runs } = await listRuns(store, { variables: { M: mark } });
    expect(runs.map(({ id }) => id)).toEqual([open.runId, born.runId]);
  });
});
