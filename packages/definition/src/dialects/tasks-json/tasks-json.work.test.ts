import { expect, it } from "vitest";
import { growthOfWork } from "../../../../../tests/support/count-work.ts";
import { loadDefinition } from "../../load-definition.ts";

const load = (text: string) => () => {
  const bytes = new TextEncoder().encode(text);
  return loadDefinition({ read: (asked) => (asked === "a.json" ? bytes : undefined) }, "a.json");
};

it.each(["generation", "generaton"])("compiles many tasks with the operator %s in linear work", (operator) => {
  const tasks = (count: number) => {
    const ids = Array.from({ length: count }, (_, index) => `task ${index}`);
    return JSON.stringify({
      config: { max_steps: 20_000, max_time: 10 },
      tasks: ids.map((id) => ({ id, operator, prompt: "x", inputs: [], outputs: [] })),
      steps: ids.map((source, index) => ({ source, target: ids[index + 1] ?? "__end" })),
    });
  };
  expect(growthOfWork(load(tasks(100)), load(tasks(1_000)))).toBeLessThan(20);
});

it.each([
  ["brackets", "["],
  ["values", '{"a":[0,'],
  ["spaces", " "],
  ["quotes", '"'],
  ["backslashes", '"\\\\'],
])("refuses a text of %s in linear work", (_, unit) => {
  expect(growthOfWork(load(unit.repeat(2_000)), load(unit.repeat(20_000)))).toBeLessThan(20);
});
