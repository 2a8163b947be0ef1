/** Workflows of tasks that store and search passages, end to end on all backends. The vectors need no model. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill } from "../support/mill.ts";
import { getHistory, replayRun } from "../support/store.ts";
import { fixture, input, output, task, tasksFile } from "../support/tasks-json.ts";

const script = `
sticky: true
rules:
  - { when: { text: "fact about the sea, number 0" }, reply: "Rivers carry salt into the sea, grain by grain." }
  - { when: { text: "fact about the sea, number 1" }, reply: "The moon pulls the water up twice a day." }
  - { when: { text: "fact about the sea, number 2" }, reply: "Whales sleep with one half of the brain." }
  - { when: { text: "fact about eels, number 0" }, reply: "An eel can cross a wet meadow at night." }
  - { when: { text: "fact about eels" }, reply: "Eels hatch in the Sargasso Sea and drift to our coasts." }
  - { when: { text: "Write a query about storms. Not again: storms at sea" }, reply: "storms on land" }
  - { when: { text: "Write a query about storms" }, reply: "storms at sea" }
  - { when: { text: "answers: storms at sea" }, reply: "Storms push the water against the dykes for hours." }
  - { when: { text: "answers: storms on land" }, reply: "Wind breaks old trees before it breaks young ones." }
  - { when: { text: "Wind breaks old trees" }, reply: " Yes\\n" }
  - { when: { text: "Are these enough" }, reply: "no" }
default: { reply: "I heard {{prompt}}" }
`;
const backends = await allBackends("passages of tasks");
const passages = (result: string | null) =>
  (result ?? "")
    .split(" \n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { passage: string; similarity: number });

describe.each(backends)("passages on the %s backend", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on all. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
  });
  afterAll(() => mill.close());

  it("are inserted by tasks and found nearest first, and a task's memory operations are not steps of their own", async () => {
    const run = await mill.run(fixture("insert"));
    expect(run).toMatchObject({ status: "success", hits: { fact: 3, find: 1 }, spent: { steps: 4 } });
    const found = passages(run.result);
    expect(found).toHaveLength(3);
    expect(found[0]?.passage).toContain("salt");
    const near = found.map(({ similarity }) => similarity);
    expect(near).toEqual(near.toSorted((a, b) => b - a));
    expect(near.every((one) => one >= -1 && one <= 1)).toBe(true);
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
  });

  once("a research loop: query, note, judge, again until it is enough, then search", async () => {
    const run = await mill.run(fixture("research"), { variables: { __input: "storms" } });
    expect(run).toMatchObject({
      status: "success",
      hits: { query: 2, note: 2, enough: 2, judge: 2, look: 1 },
      spent: { steps: 9 },
    });
    expect(passages(run.result)).toHaveLength(2);
    expect(passages(run.result)[0]?.passage).toContain("Storms");
  });

  once("HaveSimilar depends on the stored passages, and is false for an empty memory", async () => {
    const run = await mill.run(fixture("similar"));
    expect(run).toMatchObject({ status: "success", hits: { fact: 2, again: 1 }, spent: { steps: 3 } });
    expect(run.result).toContain("Sargasso");
    const empty = await mill.run(
      tasksFile({
        tasks: [task("say", "x"), task("yes", "found"), task("no", "nothing found")],
        steps: [
          {
            source: "say",
            target: "yes",
            condition: {
              input: { type: "string", key: "anything" },
              expected: "",
              expression: "HaveSimilar",
              target_if_not: "no",
            },
          },
          { source: "yes", target: "__end" },
          { source: "no", target: "__end" },
        ],
      }),
    );
    expect(empty).toMatchObject({ status: "success", result: "I heard nothing found" });
  });

  once("an input may be a search, and values that its query popped return when the task fails", async () => {
    const run = await mill.run(fixture("search-input"));
    expect(run).toMatchObject({ status: "success", spent: { steps: 2 } });
    expect(run.result).toContain("Marram grass holds the sand");
    const replayed = await replayRun(mill.store.database, mill.store.definitions, run.id);
    expect(replayed.differences).toEqual([]);
    expect(replayed.state.lists.words).toEqual([]);
    const failing = await mill.run(
      tasksFile({
        tasks: [
          task("answer", "{found}", [
            input("found", "search", "", true, { search_query: { type: "pop", key: "words" } }),
            input("gone", "read", "gone"),
          ]),
          task("rescue", "{left} left", [input("left", "size", "words")]),
        ],
        steps: [
          { source: "answer", target: "__end", fallback: "rescue" },
          { source: "rescue", target: "__end" },
        ],
        external_memory: { words: ["a", "b"] },
      }),
    );
    expect(failing).toMatchObject({ status: "success", result: "I heard 2 left" });
  });

  once("a condition may search: it finds what the task inserted, pops its query, and keeps the result", async () => {
    const found = (expected: string, more: object = {}) =>
      tasksFile({
        tasks: [
          task("keep", "x", [], [output("insert", "", "Marram grass holds the sand of the dunes.")]),
          task("no", "not found, {left} left", [input("left", "size", "words")]),
        ],
        steps: [
          {
            source: "keep",
            target: "__end",
            condition: {
              input: { type: "search", key: "", search_query: { type: "pop", key: "words" } },
              expression: "Contains",
              expected,
              target_if_not: "no",
              ...more,
            },
          },
          { source: "no", target: "__end" },
        ],
        external_memory: { words: ["a", "grass of the dunes"] },
      });
    const run = await mill.run(found("Marram grass"));
    expect(run).toMatchObject({ status: "success", result: "I heard x", hits: { keep: 1 }, spent: { steps: 1 } });
    const replayed = await replayRun(mill.store.database, mill.store.definitions, run.id);
    expect(replayed.differences).toEqual([]);
    expect(replayed.state.lists.words).toEqual(["a"]);
    const other = await mill.run(found("Whales"));
    expect(other).toMatchObject({ status: "success", result: "I heard not found, 1 left", spent: { steps: 2 } });
    // HaveSimilar finds the inserted passage too.
    const alike = await mill.run(found("0.5", { expression: "HaveSimilar" }));
    expect(alike).toMatchObject({ status: "success", result: "I heard x" });
  });

  once("passages belong to one run, unless a scope is shared", async () => {
    const store = (config: object) =>
      tasksFile({
        config,
        tasks: [task("keep", "x", [], [output("insert", "", "The lighthouse keeper counts the ships that pass.")])],
        steps: [{ source: "keep", target: "__end" }],
      });
    const look = (config: object) =>
      tasksFile({
        config,
        tasks: [{ ...task("look", "lighthouse keeper"), operator: "search" }],
        steps: [{ source: "look", target: "__end" }],
      });
    const shared = { memory: { scope: `harbour-${backend}` } };
    for (const config of [{}, shared]) expect((await mill.run(store(config))).status).toBe("success");
    expect(passages((await mill.run(look({}))).result)).toEqual([]);
    expect(passages((await mill.run(look(shared))).result)).toMatchObject([
      { passage: "The lighthouse keeper counts the ships that pass." },
    ]);
  });

  once("every memory operation of a task is an activity in the record", async () => {
    const run = await mill.run(fixture("similar"));
    const { activities } = await getHistory(mill.store.database, run.id);
    expect(activities.map(({ node }) => node)).toEqual([
      ...["fact", "fact/insert 1", "fact/similar", "fact", "fact/insert 1", "fact/similar", "again"],
    ]);
  });
});
