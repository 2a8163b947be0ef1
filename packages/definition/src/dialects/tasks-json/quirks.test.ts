/**
 * Sixteen behaviours of the original that we changed, each with our behaviour. Cases that need passages or a real endpoint are tested end
 * to end: tests/conformance/tasks-json-runs.test.ts, tasks-json-tools.test.ts and tasks-json-memory.test.ts (4, 8).
 */
import type { Work } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { compileText, playTasks, type Replies } from "./testing-play-tasks.ts";

interface Made {
  readonly config?: object;
  readonly tasks: readonly object[];
  readonly steps: readonly object[];
  readonly external_memory?: object;
  readonly return_value?: object;
}

const text = ({ config = {}, ...rest }: Made) =>
  JSON.stringify({ config: { max_steps: 9, max_time: 9, ...config }, ...rest });
const say = (id: string, prompt: string, inputs: readonly object[] = [], outputs: readonly object[] = []) => ({
  id,
  operator: "generation",
  prompt,
  inputs,
  outputs,
});
const input = (name: string, type: string, key = "", required = true) => ({ name, value: { type, key }, required });
const write = (key: string) => ({ type: "write", key, value: "__result" });
const echo: Replies = (_, messages) => messages.at(-1)?.content ?? null;
function play(made: Made, replies: Replies = echo, given: string | null = null) {
  const works: Work[] = [];
  return { ...playTasks(compileText(text(made)), given, replies, works), works };
}
const findings = (made: Made) =>
  loadDefinition({ read: () => new TextEncoder().encode(text(made)) }, "a.json").findings.map(
    ({ severity, code }) => `${severity} ${code}`,
  );
const ending = ({ state }: ReturnType<typeof play>) =>
  state.phase.is === "ended" ? [state.phase.status, state.phase.reason?.code ?? null] : null;

describe("differences from the original, by number", () => {
  const line = (maxSteps: number): Made => ({
    config: { max_steps: maxSteps },
    tasks: ["A", "B", "C"].map((id) => say(id, id)),
    steps: [
      { source: "A", target: "B" },
      { source: "B", target: "C" },
      { source: "C", target: "__end" },
    ],
  });

  it("1: max_steps tasks are allowed, and the next one is refused", () => {
    expect(ending(play(line(3)))).toEqual(["success", null]);
    expect(ending(play(line(2)))).toEqual(["failed", "LIMIT_STEPS"]);
    expect(play(line(2)).asked.map(({ task }) => task)).toEqual(["A", "B"]);
  });

  it("2: a target that does not exist is a warning, and in strict mode an error", () => {
    const typo = (strict: boolean): Made => ({
      config: { strict },
      tasks: [say("A", "x")],
      steps: [{ source: "A", target: "__ned" }],
    });
    expect(findings(typo(false))).toEqual(["warning TASK_MISSING"]);
    expect(findings(typo(true))).toEqual(["error TASK_MISSING"]);
  });

  it("3: a value that cannot be compared or sampled fails its task, and a fallback lets the run continue", () => {
    const condition = {
      input: { type: "read", key: "said" },
      expected: "3",
      expression: "LessThan",
      target_if_not: "__end",
    };
    const compared = (fallback?: string): Made => ({
      tasks: [say("A", "no number", [], [write("said")]), say("B", "rescued")],
      steps: [
        { source: "A", target: "__end", condition, fallback },
        { source: "B", target: "__end" },
      ],
    });
    expect(ending(play(compared()))).toEqual(["failed", "CONDITION_NOT_NUMERIC"]);
    expect(play(compared("B")).result).toBe("rescued");
    const sampled: Made = {
      tasks: [{ ...say("A", "x", [input("one", "string", "empty")]), operator: "sample" }],
      steps: [{ source: "A", target: "__end" }],
      external_memory: { empty: [] },
    };
    expect(ending(play(sampled))).toEqual(["failed", "READ_MISSING"]);
    const tools: Made = {
      config: { tools: ["serpr"] },
      tasks: [say("A", "x")],
      steps: [{ source: "A", target: "__end" }],
    };
    expect(findings(tools)).toEqual(["error TOOL_NAME_UNKNOWN"]);
  });

  it("5: placeholders are filled once, from left to right, and inserted values are not expanded", () => {
    const inputs = [input("one", "string", "{two}"), input("two", "string", "{one}")];
    const played = play({ tasks: [say("A", "{one}{two}{one}", inputs)], steps: [{ source: "A", target: "__end" }] });
    expect(played.asked[0]?.messages).toEqual([{ role: "user", content: "{two}{one}{two}" }]);
  });

  it("6: a text is kept unchanged, even if it is JSON", () => {
    const said = ' { "b": 1.50, "a": 12345678901234567890 } ';
    const made: Made = {
      tasks: [say("A", "x", [], [write("said")]), say("B", "{said}", [input("said", "read", "said")])],
      steps: [
        { source: "A", target: "B" },
        { source: "B", target: "__end" },
      ],
      return_value: { input: { type: "read", key: "said" } },
    };
    const played = play(made, () => said);
    expect(played.result).toBe(said);
    expect(played.asked[1]?.messages).toEqual([{ role: "user", content: said }]);
  });

  it("7: only the file chooses the embedder", () => {
    const made = (memory: object): Made => ({
      config: { memory },
      tasks: [say("A", "x")],
      steps: [{ source: "A", target: "__end" }],
    });
    expect(compileText(text(made({ embedder: { model: "m", query_prefix: "find: " } }))).memory).toEqual({
      embedder: { kind: "model", model: "m", queryPrefix: "find: " },
    });
    expect(compileText(text(made({ scope: "shared" }))).memory).toEqual({
      scope: "shared",
      embedder: { kind: "hash" },
    });
    expect(compileText(text(line(3))).memory).toBeUndefined();
  });

  it("8: a failed insertion fails its task, and the fallback is taken", () => {
    const made: Made = {
      tasks: [say("A", "x", [], [{ type: "insert", key: "", value: "__result" }]), say("B", "y")],
      steps: [
        { source: "A", target: "__end", fallback: "B" },
        { source: "B", target: "__end" },
      ],
    };
    const { edges, nodes } = compileText(text(made));
    const insert = Object.entries(nodes).find(([, node]) => node.kind === "memory" && node.op === "insert")?.[0];
    expect(edges).toContainEqual({ from: insert, to: "B", on: "fail" });
  });

  it("9 and 10: roles and max_tokens reach every call", () => {
    const messages = ["system", "assistant", "user"].map((role) => ({ role, content: role }));
    const { prompt: _, ...task } = say("A", "");
    const played = play({
      config: { max_tokens: 77, tools: ["stock"] },
      tasks: [
        { ...task, messages },
        { ...say("B", "x"), operator: "function_calling" },
      ],
      steps: [
        { source: "A", target: "B" },
        { source: "B", target: "__end" },
      ],
    });
    expect(played.asked[0]?.messages.map(({ role }) => role)).toEqual(["system", "assistant", "user"]);
    expect(played.works.map((work) => (work.kind === "prompt" ? work.settings.maxOutputTokens : null))).toEqual([
      77, 77,
    ]);
  });

  it("11: two tasks with one id, and two steps with one source, are errors", () => {
    const twice: Made = {
      tasks: [say("A", "x"), say("A", "y")],
      steps: [
        { source: "A", target: "__end" },
        { source: "A", target: "A" },
      ],
    };
    expect(findings(twice)).toEqual(["error TASK_TWICE", "error STEP_DEAD"]);
  });

  it("12: max_time is a deadline from the start", () => {
    const program = compileText(text({ ...line(3), config: { max_steps: 3, max_time: 7 } }));
    expect(program.limits.timeMs).toBe(7_000);
  });

  it("13: a tool's request contains the headers that the file names, and no other key", () => {
    const tool = { name: "t", description: "d", mode: "http_request", url: "https://example.org/", method: "GET" };
    const program = compileText(
      text({
        config: { custom_tools: [tool] },
        tasks: [{ ...say("A", "x"), operator: "function_calling" }],
        steps: [{ source: "A", target: "__end" }],
      }),
    );
    expect(program.tools?.t).not.toHaveProperty("headers");
  });

  it("14: a task that fails for any reason puts back the elements that it popped, in their order", () => {
    const made = (task: object): Made => ({
      tasks: [task, say("B", "x")],
      steps: [
        { source: "A", target: "__end", fallback: "B" },
        { source: "B", target: "__end" },
      ],
      external_memory: { s: ["1", "2", "3"] },
    });
    const pops = [input("one", "pop", "s"), input("two", "pop", "s")];
    const missing = play(made(say("A", "x", [...pops, input("three", "read", "nothing")])));
    const broken = play(made(say("A", "x", pops)), (call) => (call === 0 ? null : "y"));
    const compares = [input("__output", "pop", "s"), input("__expected", "pop", "s")];
    const different = play(made({ ...say("A", "x", compares), operator: "check" }));
    for (const played of [missing, broken, different]) {
      expect(played.state.lists.s).toEqual(["1", "2", "3"]);
      expect(played.state.hits).toMatchObject({ A: 1, B: 1 });
    }
  });

  it("14: popped elements are put back if the task fails by its condition, an insertion or the search of its condition", () => {
    const pops = [input("one", "pop", "s"), input("two", "pop", "s")];
    const made = (condition: object | null, outputs: object[] = []): Made => ({
      tasks: [say("A", "x", pops, outputs), say("B", "x")],
      steps: [
        { source: "A", target: "__end", fallback: "B", ...(condition === null ? {} : { condition }) },
        { source: "B", target: "__end" },
      ],
      external_memory: { s: ["1", "2", "3"] },
    });
    const condition = (source: object, expression: string) => ({
      input: source,
      expected: "5",
      expression,
      target_if_not: "__end",
    });
    const insert = { type: "insert", key: "", value: "__result" };
    const text = { type: "string", key: "no number" };
    const search = { type: "search", key: "", search_query: text };
    const cases: Record<string, Made> = {
      condition: made(condition(text, "GreaterThan")),
      "a condition that pops": made(condition({ type: "pop", key: "s" }, "Equal"), [insert]),
      insertion: made(null, [insert]),
      "the second insertion": made(null, [insert, insert]),
      "a condition after outputs": made(condition(text, "LessThan"), [{ type: "write", key: "w", value: "__result" }]),
      "the search of a condition": made(condition(search, "Equal")),
      "a look for similar passages": made(condition(text, "HaveSimilar")),
    };
    for (const [name, file] of Object.entries(cases)) {
      const played = play(file);
      expect([name, played.state.lists.s, played.state.hits.B]).toEqual([name, ["1", "2", "3"], 1]);
    }
  });

  it("15: post_process is skipped after to_json unless the file asks for it, and to_json of one text is that text", () => {
    const made = (more: object): Made => ({
      tasks: [say("A", "ab", [], [write("said"), { type: "push", key: "all", value: "__result" }])],
      steps: [{ source: "A", target: "__end" }],
      return_value: { to_json: true, post_process: [{ process_type: "to_upper" }], ...more },
    });
    expect(play(made({ input: { type: "get_all", key: "all" } })).result).toBe('["ab"]');
    expect(play(made({ input: { type: "get_all", key: "all" }, post_process_json: true })).result).toBe('["AB"]');
    expect(play(made({ input: { type: "read", key: "said" } })).result).toBe("AB");
  });

  it("16: the text of a search or a setting in the file decides whether passages or the web are searched", () => {
    const looked = (prompt: string, search?: string) => {
      const task = { ...say("A", prompt), operator: "search", ...(search === undefined ? {} : { search }) };
      const { works } = play({ tasks: [task], steps: [{ source: "A", target: "__end" }] });
      return works[0];
    };
    expect(looked("tides")).toMatchObject({ kind: "memory", op: "search", text: "tides", top: 3 });
    const query = '{"query": "tides", "n_results": 99, "other": 1}';
    expect(looked(query)).toMatchObject({ kind: "tool", tool: "google_search_tool" });
    const [first] = [looked(query)];
    expect(JSON.parse(first?.kind === "tool" ? first.arguments : "")).toEqual({
      query: "tides",
      lang: "en",
      n_results: 10,
    });
    expect(looked(query, "files")).toMatchObject({ kind: "memory" });
    expect(looked("tides", "web")).toMatchObject({ kind: "tool" });
  });
});
