/**
 * Compares random workflows of tasks, compiled and played by the engine, with an interpreter that implements the dialect's rules directly.
 */
import { initialState, type RunState, step } from "@markmill/engine";
import { describe, expect, inject, it } from "vitest";
import { formatProgram } from "../../write-program.ts";
import {
  type Interpreted,
  interpret,
  type TaskJson,
  type ValueJson,
  type WorkflowJson,
} from "./testing-interpreter.ts";
import { type Asked, compileText, playTasks } from "./testing-play-tasks.ts";

const programs = inject("thorough") ? 2_000 : 500;

/** A small random number generator (mulberry32). */
function chanceOf(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (count: number) => Math.floor(next() * count),
    likely: (share: number) => next() < share,
    pick: <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item,
  };
}
type Chance = ReturnType<typeof chanceOf>;

const keys = ["notes", "plan", "RESULT", "AI_MODEL_NAME", "cache.plan", "STATUS"] as const;
const stackNames = ["queue", "facts", "names", "notes"] as const;
const texts = ["3", " 12 ", "yes", "Yes \n", "no", "a {notes} b", "queue", "facts", '{"a": 1.50}', "", "x\ny", "1e2"];

function randomValue(chance: Chance): ValueJson {
  const type = chance.pick(["input", "read", "pop", "peek", "get_all", "size", "string", "pop", "read"] as const);
  if (type === "input") return { type, key: "" };
  if (type === "string") return { type, key: chance.pick(texts) };
  if (type === "read") return { type, key: chance.pick(keys) };
  const key = chance.pick(stackNames);
  return type === "peek" && chance.likely(0.6) ? { type, key, index: chance.below(3) } : { type, key };
}

function randomTask(id: string, chance: Chance): TaskJson {
  const operator = chance.pick(["generation", "generation", "generation", "check", "sample"] as const);
  const names = operator === "check" ? ["__output", "__expected"] : ["one", "two", "three"].slice(0, chance.below(4));
  const inputs = names.map((name) => {
    const sampled = operator === "sample" && chance.likely(0.8);
    const value: ValueJson = sampled ? { type: "string", key: chance.pick(stackNames) } : randomValue(chance);
    return { name, value, required: chance.likely(0.4) };
  });
  const place = () => chance.pick(["{one}", "{{two}}", "{three}", "{nobody}", "{", "}}", "text ", `${"$"}{one}`]);
  const prompt = Array.from({ length: chance.below(5) }, place).join("");
  const outputs = Array.from({ length: chance.below(3) }, () => {
    const value = chance.likely(0.7) ? "__result" : chance.pick(texts);
    return chance.likely(0.5)
      ? { type: "write" as const, key: chance.pick(keys), value }
      : { type: "push" as const, key: chance.pick(stackNames), value };
  });
  const messages = [
    { role: "system", content: `You are ${place()}.` },
    { role: "user", content: prompt },
  ];
  return { id, operator, inputs, outputs, ...(chance.likely(0.3) ? { messages } : { prompt }) };
}

const expressions = [
  "Equal",
  "NotEqual",
  "Contains",
  "NotContains",
  "GreaterThan",
  "LessThan",
  "GreaterThanOrEqual",
  "LessThanOrEqual",
];

function randomWorkflow(chance: Chance): WorkflowJson {
  const ids = ["A", "B", "C", "task four", "end", "F.1"].slice(0, 1 + chance.below(6));
  const tasks = ids.map((id) => randomTask(id, chance));
  const target = () => (chance.likely(0.25) ? chance.pick(["__end", "_end"]) : chance.pick(ids));
  const steps = ids.map((source) => ({
    source,
    target: target(),
    ...(chance.likely(0.4) ? { fallback: target() } : {}),
    ...(chance.likely(0.5)
      ? {
          condition: {
            input: randomValue(chance),
            expected: chance.pick(["2", "3", "yes", "", "a", " 1 ", "many"]),
            expression: chance.pick(expressions),
            target_if_not: target(),
          },
        }
      : {}),
  }));
  const value = () => randomValue(chance);
  return {
    config: { max_steps: 1 + chance.below(14), max_time: 1_000 },
    external_memory: {
      plan: chance.pick(texts),
      queue: Array.from({ length: chance.below(4) }, () => chance.pick(texts)),
      names: ["queue", "facts"],
    },
    tasks: [...tasks, { id: "__end", operator: "end", prompt: "", inputs: [], outputs: [] }],
    steps,
    ...(chance.likely(0.8)
      ? {
          return_value: {
            input: chance.likely(0.4) ? [value(), value()] : value(),
            to_json: chance.likely(0.4),
            post_process: Array.from({ length: chance.below(3) }, () =>
              chance.pick([
                { process_type: "replace", lhs: "e", rhs: "$&" },
                { process_type: "append", rhs: "!" },
                { process_type: "prepend", lhs: "> " },
                { process_type: "trim" },
                { process_type: "trim_start" },
                { process_type: "trim_end" },
                { process_type: "to_lower" },
                { process_type: "to_upper" },
              ]),
            ),
          },
        }
      : {}),
  };
}

const compile = (workflow: WorkflowJson) => compileText(JSON.stringify(workflow));

/** The engine's own variables are not part of the workflow's memory. */
function memoryOf({ variables, lists }: RunState) {
  const { RESULT: _result, STATUS: _status, ERROR: _error, ...others } = variables;
  const cache = Object.entries(others).map(([name, text]) => [name.replace(/^cache\./, ""), text]);
  return { cache: Object.fromEntries(cache), stacks: lists };
}

function countOf(path: readonly string[]): Record<string, number> {
  const hits: Record<string, number> = {};
  for (const id of path) hits[id] = (hits[id] ?? 0) + 1;
  return hits;
}

describe(`${programs} random workflows of tasks`, () => {
  const seen = new Map<string, number>();
  const ended: Interpreted[] = [];

  it("give the same result, memory, path and requests as in the interpreter", () => {
    for (let seed = 1; seed <= programs; seed++) {
      const chance = chanceOf(seed);
      const workflow = randomWorkflow(chance);
      const input = chance.likely(0.7) ? chance.pick(texts) : null;
      const said = Array.from({ length: 20 }, () => (chance.likely(0.12) ? null : chance.pick(texts)));
      const replies = (call: number) => said[call] ?? null;
      const program = compile(workflow);
      // A program that is formatted and read again is the same program.
      expect(compileText(formatProgram(program)), `seed ${seed}`).toEqual({ ...program, name: "random" });
      const ours = playTasks(program, input, replies);
      const asked: Asked[] = [];
      const samples = [...ours.samples];
      const theirs = interpret(workflow, input, {
        ask(task, messages) {
          asked.push({ task, messages });
          return replies(asked.length - 1);
        },
        drawn: () => samples.shift() ?? [],
      });
      const { phase } = ours.state;
      const end = phase.is === "ended" ? phase : null;
      const last = workflow.return_value === undefined && theirs.result.startsWith("FAILED");
      expect(
        {
          status: end?.status,
          code: end?.reason?.code ?? null,
          result: last || end?.reason?.code === "LIMIT_STEPS" ? "" : ours.result,
          ...memoryOf(ours.state),
          hits: Object.fromEntries(Object.entries(ours.state.hits).filter(([id]) => id !== "__end")),
          asked: ours.asked,
        },
        `seed ${seed}: ${JSON.stringify(workflow)}`,
      ).toEqual({
        status: theirs.status,
        code: theirs.code,
        result: last || theirs.code === "LIMIT_STEPS" ? "" : theirs.result,
        cache: theirs.cache,
        stacks: theirs.stacks,
        hits: countOf(theirs.path),
        asked,
      });
      // Tasks that failed before they requested anything were not performed. The others have the same order.
      let at = 0;
      for (const id of ours.performed) {
        at = theirs.path.indexOf(id, at) + 1;
        expect(at, `seed ${seed}: ${ours.performed} in ${theirs.path}`).toBeGreaterThan(0);
      }
      const folded = ours.events.reduce((state, event) => step(program, state, event).state, initialState);
      expect(folded).toEqual(ours.state);
      for (const word of [theirs.code ?? "success", ...workflow.tasks.map(({ operator }) => operator)])
        seen.set(word, (seen.get(word) ?? 0) + 1);
      ended.push(theirs);
    }
  }, 60_000);

  it("cover every kind of end", () => {
    for (const word of ["success", "READ_MISSING", "SCRIPTED", "CHECK_FALSE", "CONDITION_NOT_NUMERIC", "LIMIT_STEPS"])
      expect(seen.get(word) ?? 0, word).toBeGreaterThan(programs / 50);
    expect(ended.filter(({ path }) => path.length > 5).length).toBeGreaterThan(programs / 10);
    expect(ended.filter(({ result }) => result !== "").length).toBeGreaterThan(programs / 4);
  });
});
