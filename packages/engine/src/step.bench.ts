/** `npm run bench:step`: measures the cost of one step in a program of 200 nodes, and the cost of a JSON round trip of the same state. */
import { activityKey } from "./activity.ts";
import type { Event } from "./event.ts";
import type { Edge, Node } from "./program.ts";
import { initialState, type RunState } from "./state.ts";
import { outstanding, step } from "./step.ts";
import { programOf, started } from "./testing-programs.ts";

const size = 200;
const nodes: Record<string, Node> = { START: { kind: "start" } };
const edges: Edge[] = [{ from: "START", to: "N0", on: "ok" }];
for (let index = 0; index < size; index++) {
  const condition = {
    op: "contains",
    left: { from: "name", name: "RESULT" },
    right: { from: "literal", text: "yes" },
  } as const;
  nodes[`N${index}`] =
    index % 2 === 0
      ? { kind: "prompt", text: { from: "template", text: "Step {{RESULT}}" } }
      : { kind: "check", condition };
  edges.push({ from: `N${index}`, to: `N${(index + 1) % size}`, on: "ok" });
}
const program = programOf(nodes, edges, { limits: { ...initialState.limits, hits: 1e9, steps: 1e9 } });

function answerTo(state: RunState): Event {
  const [next] = outstanding(program, state);
  if (next === undefined) throw new Error("the benchmark's run has ended");
  const prompt = program.nodes[next.activity.node]?.kind === "prompt";
  const outcome = prompt ? ({ kind: "replied", text: "yes" } as const) : ({ kind: "done" } as const);
  return { type: "activity.succeeded", at: 2, seed: 0, epoch: 1, activity: next.activity, outcome, usage: null };
}

function microseconds(work: () => void, times: number): number {
  const from = process.hrtime.bigint();
  for (let time = 0; time < times; time++) work();
  return Number(process.hrtime.bigint() - from) / 1_000 / times;
}

let state = step(program, initialState, started()).state;
const advance = () => {
  state = step(program, state, answerTo(state)).state;
};
microseconds(advance, 20_000);
const rounds = Array.from({ length: 5 }, () => ({
  step: microseconds(advance, 20_000),
  json: microseconds(() => JSON.parse(JSON.stringify(state)), 2_000),
}));
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const perStep = median(rounds.map((round) => round.step));
const perJson = median(rounds.map((round) => round.json));
console.log(
  `step: ${perStep.toFixed(1)} µs in a program of ${size} nodes (all ${Object.keys(state.hits).length} visited)`,
);
console.log(
  `JSON round trip of the same state: ${perJson.toFixed(1)} µs; step / JSON = ${(perStep / perJson).toFixed(2)}`,
);
console.log(
  `a duplicate: ${microseconds(() => step(program, state, { ...answerTo(state), epoch: 0 } as Event), 20_000).toFixed(1)} µs (${activityKey({ node: "N0", generation: 1, item: null })})`,
);
