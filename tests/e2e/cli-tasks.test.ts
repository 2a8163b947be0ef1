// A workflow of tasks on the command line. The test runs the commands of the page that describes it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type MarkmillPlace, makePlace } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const page = readFileSync(new URL("../../docs/tasks-json.md", import.meta.url), "utf8");
const block = (language: string, holds: string) => {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map(
    (match) => match[1] ?? "",
  );
  const found = blocks.find((text) => text.includes(holds));
  if (found === undefined) throw new Error(`docs/tasks-json.md has no ${language} with ${holds}`);
  return found;
};

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({}, { postgres: "running" });
  writeFileSync(join(place.cwd, "tides.json"), block("json", '"steps"'));
  writeFileSync(join(place.cwd, "replies.yaml"), block("yaml", "default"));
});
afterAll(async () => {
  await resident.close();
  await place.remove();
});

const scripted = ["--script", "replies.yaml"];

it("the commands of the page on tasks work as written: validate, show, run with an input, history, replay", async () => {
  expect(await resident.say(place, ["validate", "tides.json"])).toMatchObject({
    code: 0,
    stdout: "ok      tides.json\n",
  });
  const shown = await resident.say(place, ["show", "tides.json"]);
  expect(shown.stdout).toContain("Dialect     tasks, revision S");
  expect(shown.stdout).toMatch(/fact +prompt .*if size facts > '2' → __end, → fact/);
  expect((await resident.say(place, ["show", "tides.json", "--mermaid"])).stdout).toContain("flowchart TD");
  const run = await resident.say(place, ["run", "tides.json", "--input", "spring tides", ...scripted, "--json"]);
  expect(run.code, run.stderr).toBe(0);
  const told = JSON.parse(run.stdout) as { id: string; status: string; result: string };
  expect(told).toMatchObject({ status: "success", result: '["Fact 1","Fact 2","Fact 3"]' });
  const history = await resident.say(place, ["history", told.id]);
  expect(history.stdout).toContain("State a fact about spring tides. Known: Fact 1 \n");
  expect(history.stdout).toContain("flowchart TD");
  expect((await resident.say(place, ["replay", told.id])).code).toBe(0);
});

it("run reports missing inputs before the start, and refuses inputs that the workflow does not accept", async () => {
  const without = await resident.say(place, ["run", "tides.json", ...scripted]);
  expect(without.stderr).toContain("INPUT_MISSING");
  expect(without.code).not.toBe(0);
  const unknown = await resident.say(place, ["run", "tides.json", "--input", "x", "topik=y", ...scripted]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("PARAM_UNKNOWN") });
  writeFileSync(join(place.cwd, "typo.json"), block("json", '"steps"').replace('"max_tokens"', '"max_token"'));
  expect((await resident.say(place, ["validate", "typo.json"])).code).toBe(0);
  const strict = await resident.say(place, ["validate", "--strict", "typo.json"]);
  expect(strict).toMatchObject({ code: 6, stderr: expect.stringContaining("Did you mean max_tokens?") });
});
