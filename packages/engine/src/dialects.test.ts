/** Hand-written programs for the hardest example of each dialect. The program form must be able to express all of them. */
import { describe, expect, it } from "vitest";
import type { ActivityRef, Work } from "./activity.ts";
import type { Edge, Node } from "./program.ts";
import { type Answer, edgesOf, play, programOf, started } from "./testing-programs.ts";

const success: Node = { kind: "end", outcome: "success" };
const failed: Node = { kind: "end", outcome: "failed" };
const result = { from: "name", name: "RESULT" } as const;
const all = { "": { mode: "all" } } as const;

function names(asked: readonly string[], node: string): string[] {
  return asked.filter((name) => name.startsWith(`${node}.`));
}

describe("dialect operators: an expert's workflow with an evaluator", () => {
  // upper ∥ prefix → suffix → evaluate. An execution error runs the whole workflow again with the lessons so far.
  const reads = [{ name: "lessons", value: { from: "all", list: "lessons" }, required: false }] as const;
  const operator = (text: string, to: string): Node => ({
    kind: "prompt",
    text: { from: "template", text: `${text} [{{lessons}}]` },
    fresh: true,
    reads,
    writes: [{ do: "set", name: to, value: result }],
  });
  const expert = (retries: number) =>
    programOf(
      {
        upper: { ...operator("upper {{GOAL}}", "out.upper"), select: "all" } as Node,
        prefix: operator("prefix {{GOAL}}", "out.prefix"),
        suffix: { ...operator("suffix {{out.upper}}{{out.prefix}}", "out.suffix"), groups: all } as Node,
        judge: {
          kind: "evaluate",
          text: { from: "template", text: "judge {{out.suffix}}" },
          statuses: ["EXECUTION_ERROR", "INPUT_DATA_ERROR", "SUCCESS"],
          repairs: 1,
          lessons: "lessons",
        },
        again: { kind: "join", select: "all" },
        done: { kind: "end", outcome: "success", status: { from: "literal", text: "SUCCESS" } },
        spent: { kind: "end", outcome: "failed", status: { from: "literal", text: "EXECUTION_ERROR" } },
        input: { kind: "end", outcome: "failed", status: { from: "literal", text: "INPUT_DATA_ERROR" } },
      },
      [
        ...edgesOf(
          "upper suffix",
          "prefix suffix",
          "suffix judge",
          "judge -SUCCESS- done",
          "judge -INPUT_DATA_ERROR- input",
        ),
        { from: "judge", to: "again", on: "EXECUTION_ERROR", max: retries },
        ...edgesOf("judge -EXECUTION_ERROR- spent", "again upper", "again prefix"),
      ],
      {
        dialect: "operators",
        entry: ["upper", "prefix"],
        scheduling: "superstep",
        limits: { hits: 10, steps: 100, depth: 20, nanodollars: null, tokens: null, characters: null, timeMs: null },
        result: { take: "operands", of: [{ from: "name", name: "out.suffix" }], json: false, post: [] },
      },
    );
  const verdicts = (...statuses: string[]) => {
    let next = 0;
    return (work: Work): Answer => {
      if (work.kind !== "prompt") return { kind: "done" };
      if (work.text.startsWith("judge") || work.text.includes("JSON object")) {
        const status = statuses[next++] ?? "SUCCESS";
        return {
          kind: "replied",
          text:
            status === "garbage"
              ? "well …"
              : `Sure:\n\`\`\`json\n{"status": "${status}", "evaluation": "ev${next}", "lesson": "le${next}"}\n\`\`\``,
        };
      }
      const [verb, ...rest] = work.text.replace(/ \[.*/s, "").split(" ");
      const text = rest.join(" ");
      return {
        kind: "replied",
        text: verb === "upper" ? text.toUpperCase() : verb === "prefix" ? `P_${text}` : `${text}_S`,
      };
    };
  };

  it("runs branches at the same time and joins them in declared order", () => {
    const played = play(expert(3), verdicts("SUCCESS"), started({ variables: { GOAL: "abc" } }));
    expect(played.asked.slice(0, 2)).toEqual(["upper.1.1", "prefix.1.1"]);
    expect(played.commands.at(-1)).toMatchObject({
      do: "end",
      status: "success",
      word: "SUCCESS",
      result: "ABCP_abc_S",
    });
  });

  it("retries three times with all earlier lessons and then gives up", () => {
    const error = "EXECUTION_ERROR";
    const recovered = play(
      expert(3),
      verdicts(error, error, error, "SUCCESS"),
      started({ variables: { GOAL: "abc" } }),
    );
    const uppers = recovered.commands.flatMap((command) =>
      command.do === "perform" && command.activity.node === "upper" && command.work.kind === "prompt"
        ? [command.work.text]
        : [],
    );
    expect(uppers).toEqual([
      "upper abc []",
      "upper abc [ev1\nle1\n]",
      "upper abc [ev1\nle1\nev2\nle2\n]",
      "upper abc [ev1\nle1\nev2\nle2\nev3\nle3\n]",
    ]);
    expect(recovered.state.phase).toMatchObject({ status: "success" });
    const exhausted = play(expert(3), verdicts(error, error, error, error), started({ variables: { GOAL: "abc" } }));
    expect(exhausted.commands.at(-1)).toMatchObject({ do: "end", status: "failed", word: error });
    expect(names(exhausted.asked, "upper")).toHaveLength(4);
  });

  it("repeats the prompt if the reply is not a verdict, and then fails", () => {
    const repaired = play(expert(3), verdicts("garbage", "SUCCESS"), started({ variables: { GOAL: "abc" } }));
    expect(names(repaired.asked, "judge")).toEqual(["judge.1.1", "judge.1.2"]);
    expect(repaired.state.phase).toMatchObject({ status: "success" });
    const broken = play(expert(3), verdicts("garbage", "garbage"), started({ variables: { GOAL: "abc" } }));
    expect(broken.state.phase).toMatchObject({ status: "failed", reason: { code: "VERDICT_INVALID" } });
  });
});

describe("dialect operators: a leader's graph of sub-jobs", () => {
  const job = (more: object = {}): Node => ({ kind: "call", program: "expert", select: "all", ...more }) as Node;
  const returned = (word: string, text = word): Answer => ({
    kind: "returned",
    status: word === "SUCCESS" ? "success" : "failed",
    word,
    result: text,
    variables: {},
    reason: null,
  });
  const inputError = (from: string, to: string): Edge => ({
    from,
    to,
    on: "INPUT_DATA_ERROR",
    rerun: true,
    max: 3,
    effects: [{ do: "push", list: `lessons.${to}`, value: result }],
  });
  const oracle = (words: Record<string, string[]>) => (_work: Work, activity: ActivityRef) =>
    returned(words[activity.node]?.[activity.generation - 1] ?? "SUCCESS");

  it("after a complaint about the input, runs the predecessors again with the lesson, then the node that complained", () => {
    const graph = programOf(
      { a: job(), b: job({ groups: all }), c: job() },
      [...edgesOf("a b", "a c"), inputError("b", "a")],
      { entry: ["a"], dialect: "operators" },
    );
    const played = play(graph, oracle({ b: ["INPUT_DATA_ERROR"] }));
    expect(names(played.asked, "a")).toEqual(["a.1.1", "a.2.1"]);
    expect(names(played.asked, "b")).toEqual(["b.1.1", "b.2.1"]);
    expect(names(played.asked, "c")).toEqual(["c.1.1"]);
    expect(played.state.lists["lessons.a"]).toEqual(["INPUT_DATA_ERROR"]);
    expect(played.state.phase).toMatchObject({ status: "success" });
    const stubborn = play(graph, oracle({ b: Array(9).fill("INPUT_DATA_ERROR") }), started({ caps: {} }));
    expect(stubborn.state.phase).toMatchObject({ status: "failed" });
  });

  it("after one complaint of a join, runs both its predecessors again once", () => {
    const graph = programOf(
      { a: job(), b: job(), c: job({ groups: all }) },
      [...edgesOf("a c", "b c"), inputError("c", "a"), inputError("c", "b")],
      { entry: ["a", "b"], dialect: "operators" },
    );
    const played = play(graph, oracle({ c: ["INPUT_DATA_ERROR"] }));
    for (const node of ["a", "b", "c"]) expect(names(played.asked, node)).toHaveLength(2);
    expect(played.state.phase).toMatchObject({ status: "success" });
  });

  it("merges the complaints of two successors into one rerun", () => {
    const graph = programOf(
      { a: job(), b: job({ groups: all }), c: job({ groups: all }) },
      [...edgesOf("a b", "a c"), inputError("b", "a"), inputError("c", "a")],
      { entry: ["a"], dialect: "operators" },
    );
    const played = play(graph, oracle({ b: ["INPUT_DATA_ERROR"], c: ["INPUT_DATA_ERROR"] }));
    for (const node of ["a", "b", "c"]) expect(names(played.asked, node)).toHaveLength(2);
  });

  const split = (lifeCycle: number): Node => ({ kind: "splice", text: result, replaces: "b", lifeCycle });
  it("replaces a sub-job that is too complicated by a plan", () => {
    const graph = programOf(
      { a: job(), b: job({ groups: all }), split: split(2), d: job({ groups: all }) },
      edgesOf("a b", "b d", "b -TOO_COMPLICATED- split"),
      { entry: ["a"], dialect: "operators" },
    );
    const played = play(graph, (work, activity) => {
      if (activity.node === "b") return returned("TOO_COMPLICATED");
      if (work.kind !== "prompt") return returned("SUCCESS", activity.node);
      return {
        kind: "planned",
        text: "plan",
        fragment: { nodes: { b1: job(), b2: job({ groups: all }) }, edges: edgesOf("b1 b2") },
      };
    });
    expect(played.asked).toEqual(["a.1.1", "b.1.1", "split.1.1", "split.1/b1.1.1", "split.1/b2.1.1", "d.1.1"]);
    expect(played.state.phase).toMatchObject({ status: "success" });
  });

  it("waits for all tails of a plan before the next node, and refuses to split further than the life cycle allows", () => {
    const graph = (lifeCycle: number) =>
      programOf(
        { b: job(), split: split(lifeCycle), d: job({ groups: all }) },
        edgesOf("b d", "b -TOO_COMPLICATED- split"),
        { entry: ["b"], dialect: "operators" },
      );
    const answer = (work: Work, activity: ActivityRef): Answer =>
      activity.node === "b"
        ? returned("TOO_COMPLICATED")
        : work.kind === "prompt"
          ? { kind: "planned", text: "", fragment: { nodes: { x: job(), y: job() }, edges: [] } }
          : returned("SUCCESS");
    expect(play(graph(1), answer).asked).toEqual(["b.1.1", "split.1.1", "split.1/x.1.1", "split.1/y.1.1", "d.1.1"]);
    expect(play(graph(0), answer).state.phase).toMatchObject({ reason: { code: "LIFE_CYCLE_SPENT" } });
  });
});

describe("dialect tasks: a loop over a stack with a fallback", () => {
  // Collect replies until the stack contains three, then pop one at a time. If a required input is missing, the fallback runs and the pops
  // are undone.
  const program = programOf(
    {
      collect: {
        kind: "prompt",
        text: { from: "template", text: "Query {{n}}: {{context}}" },
        fresh: true,
        reads: [
          { name: "n", value: { from: "size", list: "queries" }, required: true },
          { name: "context", value: { from: "peek", list: "context", index: 0 }, required: false },
        ],
        writes: [{ do: "push", list: "queries", value: result }],
      },
      use: {
        kind: "prompt",
        text: { from: "template", text: "Use {{query}} with {{extra}}" },
        fresh: true,
        reads: [
          { name: "query", value: { from: "pop", list: "queries" }, required: true },
          { name: "extra", value: { from: "pop", list: "extras" }, required: true },
        ],
        writes: [{ do: "push", list: "used", value: result }],
      },
      rescue: { kind: "assign", value: { from: "literal", text: "rescued" } },
      done: success,
    },
    [
      {
        from: "collect",
        to: "use",
        on: "ok",
        when: { op: "greaterEqual", left: { from: "size", list: "queries" }, right: { from: "literal", text: "3" } },
      },
      ...edgesOf("collect collect", "use use", "use -fail- rescue", "rescue done"),
    ],
    {
      dialect: "tasks",
      entry: ["collect"],
      lists: { context: ["tides"], extras: ["e1", "e2"] },
      limits: { hits: 100, steps: 20, depth: 0, nanodollars: null, tokens: null, characters: null, timeMs: null },
      result: { take: "operands", of: [{ from: "all", list: "queries" }], json: true, post: [] },
    },
  );
  let n = 0;
  const played = play(program, (work) =>
    work.kind === "prompt" ? { kind: "replied", text: `R${++n}` } : { kind: "done" },
  );

  it("loops until the condition on the new list holds", () => {
    expect(names(played.asked, "collect")).toHaveLength(3);
    expect(played.commands[0]).toMatchObject({ work: { text: "Query 0: tides" } });
  });
  it("runs the fallback for a missing input and undoes the pops of that task", () => {
    expect(names(played.asked, "use")).toHaveLength(2);
    expect(played.state.lists.queries).toEqual(["R1"]);
    expect(played.state.lists.used).toEqual(["R4", "R5"]);
    expect(played.commands.at(-1)).toMatchObject({ status: "success", result: '["R1"]' });
  });
});

describe("dialect agents: joins, loops and maps", () => {
  const agent = (more: object = {}): Node =>
    ({ kind: "prompt", text: { from: "template", text: "{{RESULT}}" }, select: "all", ...more }) as Node;
  const say = (texts: Record<string, string[]>) => (work: Work, activity: ActivityRef) =>
    work.kind === "prompt"
      ? ({ kind: "replied", text: texts[activity.node]?.[activity.generation - 1] ?? activity.node } as const)
      : ({ kind: "done" } as const);
  const approve = { op: "contains", left: result, right: { from: "literal", text: "APPROVE" } } as const;

  it("loops between two agents, fans out, joins all branches, and repeats this in the next lap", () => {
    const program = programOf(
      {
        writer: agent({ groups: { "": { mode: "any" }, loop: { mode: "any" }, back: { mode: "any" } } }),
        critic: agent(),
        editor: agent(),
        audit: agent(),
        archive: agent(),
        publish: agent({ groups: all }),
      },
      [
        ...edgesOf("writer critic"),
        { from: "critic", to: "writer", on: "ok", group: "loop", max: 5, when: { op: "not", of: approve } },
        { from: "critic", to: "editor", on: "ok", when: approve },
        ...edgesOf("editor audit", "editor archive", "audit publish", "archive publish"),
        { from: "publish", to: "writer", on: "ok", group: "back", max: 1 },
      ],
      {
        dialect: "agents",
        entry: ["writer"],
        scheduling: "superstep",
        limits: { ...programOf({}, []).limits, hits: 20 },
      },
    );
    const played = play(program, say({ critic: ["no", "APPROVE", "APPROVE"] }));
    expect(names(played.asked, "writer")).toHaveLength(3);
    expect(names(played.asked, "publish")).toEqual(["publish.1.1", "publish.2.1"]);
    expect(played.state.phase).toMatchObject({ status: "success" });
  });

  it("an all-group needs a token on every edge, so one parent that runs twice does not complete it", () => {
    const program = programOf(
      { a: agent(), b: agent({ select: "first" }), twice: agent(), c: agent({ groups: all }) },
      [...edgesOf("a c", "a b", "b twice"), { from: "twice", to: "a", on: "ok", max: 1 }],
      { dialect: "agents", entry: ["a"] },
    );
    const missing = programOf(program.nodes, [...program.edges, { from: "b", to: "c", on: "never" }], { entry: ["a"] });
    const played = play(missing, say({}));
    expect(names(played.asked, "a")).toHaveLength(2);
    expect(names(played.asked, "c")).toEqual([]);
    expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "STALLED" } });
  });

  it("a quorum continues when enough tokens arrive and drops the rest, and any continues with the first token", () => {
    const join = (mode: object) =>
      programOf(
        { s: agent(), a: agent(), b: agent(), c: agent(), j: agent({ groups: { "": mode } }) },
        edgesOf("s a", "s b", "s c", "a j", "b j", "c j"),
        { dialect: "agents", entry: ["s"] },
      );
    expect(names(play(join({ mode: "quorum", of: 2 }), say({})).asked, "j")).toEqual(["j.1.1"]);
    expect(names(play(join({ mode: "all" }), say({})).asked, "j")).toEqual(["j.1.1"]);
    expect(names(play(join({ mode: "any" }), say({})).asked, "j").length).toBeGreaterThan(1);
  });

  it("a model selects the next speaker, and an unclear choice is requested again", () => {
    const program = programOf(
      {
        pick: { kind: "select", text: result, candidates: ["writer", "critic"], repairs: 2 },
        writer: agent(),
        critic: agent(),
      },
      edgesOf("pick -writer- writer", "pick -critic- critic"),
      { dialect: "agents", entry: ["pick"] },
    );
    let asked = 0;
    const played = play(program, (_work, activity) => ({
      kind: "replied",
      text: activity.node === "pick" ? (["writer or critic?", "the critic."][asked++] ?? "") : "said",
    }));
    expect(played.asked).toEqual(["pick.1.1", "pick.1.2", "critic.1.1"]);
  });

  it("maps a list with bounded concurrency and gives the reducer an ordered report", () => {
    const program = programOf(
      {
        split: agent(),
        each: {
          kind: "map",
          over: result,
          each: { kind: "prompt", text: { from: "template", text: "Read {{item}} ({{index}})" } },
          concurrency: 2,
          itemError: "collect",
          minSuccess: 0.6,
        },
        reduce: agent(),
        failed,
      },
      edgesOf("split each", "each reduce", "each -fail- failed"),
      { dialect: "agents", entry: ["split"] },
    );
    let most = 0;
    const open = new Set<number>();
    const run = (bad: number) =>
      play(program, (work, activity) => {
        if (activity.node === "split") return { kind: "replied", text: '["a","b","c"]' };
        if (activity.item === null) return { kind: "replied", text: "sum" };
        open.add(activity.item);
        most = Math.max(most, open.size);
        open.delete(activity.item);
        if (activity.item < bad) return { failure: { code: "X", message: "bad" }, next: "fail" };
        return { kind: "replied", text: (work as { text: string }).text };
      });
    const good = run(1);
    const reduced = good.commands.findLast((command) => command.do === "perform");
    expect(reduced).toMatchObject({ activity: { node: "reduce" } });
    expect(JSON.parse((reduced as { work: { text: string } }).work.text)).toEqual([
      { index: 0, item: "a", status: "error", error: "bad" },
      { index: 1, item: "b", status: "ok", output: "Read b (1)" },
      { index: 2, item: "c", status: "ok", output: "Read c (2)" },
    ]);
    expect(run(2).state.phase).toMatchObject({ status: "failed" });
  });
});

describe("dialect chat: a round whose plan is made while it runs", () => {
  it("plans, runs the tasks as a chain in plan order, survives one failed task, and closes the round", () => {
    const task = (agent: string): Node => ({ kind: "call", program: agent });
    const program = programOf(
      {
        ingest: { kind: "tool", tool: "ingest", arguments: { from: "name", name: "FILES" } },
        plan: { kind: "splice", text: { from: "name", name: "REQUEST" }, lifeCycle: 1 },
        close: { kind: "prompt", text: result },
      },
      edgesOf("ingest plan", "plan close"),
      { dialect: "chat", entry: ["ingest"] },
    );
    const chain = [...edgesOf("t1 t2", "t1 -fail- t2")];
    const played = play(program, (work, activity) => {
      if (work.kind === "tool") return { kind: "produced", text: "2 documents" };
      if (activity.node === "plan") {
        return {
          kind: "planned",
          text: "I will",
          fragment: { nodes: { t1: task("writer"), t2: task("coder") }, edges: chain },
        };
      }
      if (work.kind === "call") {
        const status = work.program === "writer" ? "failed" : "success";
        return { kind: "returned", status, word: null, result: work.program, variables: {}, reason: null };
      }
      return { kind: "replied", text: "closed" };
    });
    expect(played.asked).toEqual(["ingest.1.1", "plan.1.1", "plan.1/t1.1.1", "plan.1/t2.1.1", "close.1.1"]);
    expect(played.commands.at(-1)).toMatchObject({ status: "success", result: "closed" });
  });
});
