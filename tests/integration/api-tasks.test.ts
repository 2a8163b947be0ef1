// A workflow of tasks over the API. The client does not name its language.
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { fixture, input, output, task, tasksFile } from "../support/tasks-json.ts";

let mill: Mill;
let api: TestApi;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: 'default: { reply: "I heard {{prompt}}" }\n' });
  api = await startApi(mill);
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

it("a workflow of tasks is validated, saved, drawn, started with its input and reported like any other workflow", async () => {
  const owner = await api.client("owner");
  const files = tasksFile({
    tasks: [task("say", "about {topic}", [input("topic", "input")], [output("push", "said")])],
    steps: [{ source: "say", target: "__end" }],
    return_value: { input: { type: "get_all", key: "said" }, to_json: true },
  });
  const root = "made.json";
  expect(await owner.validateDefinition({ body: { root, files } })).toMatchObject({ valid: true, programs: [root] });
  const { hash } = await owner.saveDefinition({ body: { root, files } });
  expect(await owner.getDefinition({ params: { hash } })).toMatchObject({ dialect: "tasks" });
  const { id } = await owner.startRun({ body: { definition: hash, input: "tides" } });
  await mill.ended(id);
  expect(await owner.getRun({ params: { id } })).toMatchObject({
    status: "success",
    result: '["I heard about tides"]',
  });
  const { items } = await owner.listActivities({ params: { id } });
  expect(items).toMatchObject([{ node: "say", kind: "prompt" }]);
});

it("a task file with errors is refused with all findings and their positions", async () => {
  const owner = await api.client("owner");
  const [[root, text] = ["", ""]] = Object.entries(fixture("laps"));
  const files = {
    [root]: text.replace('"GreaterThan"', '"GreaterThen"').replace('"operator": "generation"', '"operator": 1'),
  };
  const check = await owner.validateDefinition({ body: { root, files } });
  expect(check.valid).toBe(false);
  expect(check.findings.map(({ code, line }) => [code, line > 1])).toEqual([
    ["FIELD_TYPE", true],
    ["FIELD_VALUE", true],
  ]);
});

it("a run of tasks that gets an input which it does not use starts with a warning", async () => {
  const owner = await api.client("owner");
  const [[root] = [""]] = Object.entries(fixture("laps"));
  const { hash } = await owner.saveDefinition({ body: { root, files: fixture("laps") } });
  const { id } = await owner.startRun({ body: { definition: hash, input: "not taken" } });
  const { items } = await owner.listEvents({ params: { id } });
  expect(items[0]?.warnings.map(({ code }) => code)).toContain("INPUT_UNUSED");
});
