// A class with a server: the files are read here, and the server grades them.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const example = join(import.meta.dirname, "../../examples/class-roman");
const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "a class against a server, in the jail", reason: jail.message });

let model: ScriptedModel;
let server: MarkmillPlace & { remove(): Promise<void> };
let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
beforeAll(async () => {
  if (jail !== null) return;
  resident = await residentMarkmill();
  const read = parseScript(readFileSync(join(example, "model.yaml"), "utf8"), "model.yaml");
  if (!read.ok) throw new Error("the example's script is wrong");
  model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
  server = await makePlace(
    {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "test",
      DEFAULT_MODEL: "gpt-5-mini",
      API_PORT: "0",
      SANDBOX_ACCEPT: process.env.SANDBOX_ACCEPT ?? "",
    },
    { jail: "proven" },
  );
  const up = await markmill(server, ["up", "--detach"]);
  const told = up.stdout + up.stderr;
  place = await makePlace({
    MARKMILL_URL: /api: (\S+)/.exec(told)?.[1] ?? "",
    MARKMILL_TOKEN: /first key.*: (mm_\S+)/.exec(told)?.[1] ?? "",
  });
}, 180_000);
afterAll(async () => {
  if (jail !== null) return;
  await resident?.close();
  await markmill(server, ["down"]);
  await place?.remove();
  await server?.remove();
  await model?.close();
});

it.skipIf(jail !== null)(
  "a class on a server is graded, shown, exported and stopped there, and commands that need a local worker are refused",
  async () => {
    const out = join(place.cwd, "out");
    const graded = await resident.say(place, ["grade", example, "--sample", "1", "--out", out, "--json"]);
    expect(graded.code, graded.stderr).toBe(0);
    const statuses = JSON.parse(graded.stdout).students.map(({ status }: { status: string }) => status);
    expect(Object.groupBy(statuses, (status: string) => status)).toMatchObject({
      graded: { length: 1 },
      "not in the sample": { length: 25 },
      "nothing handed in": { length: 1 },
    });
    const status = await resident.say(place, ["status", example]);
    expect(status.stdout, status.stderr).toMatch(/not in the sample/);
    expect(await resident.say(place, ["review", example])).toMatchObject({ code: 0 });
    expect(await resident.say(place, ["review", example, "--accept"])).toMatchObject({ code: 2 });
    const unreleased = await resident.say(place, ["export", example, "--to", "csv", "--out", out]);
    expect(unreleased).toMatchObject({ code: 1, stderr: expect.stringContaining("EXPORT_NOT_RELEASED") });
    const written = await resident.say(place, ["export", example, "--to", "csv", "--draft", "--out", out]);
    expect(readFileSync(written.stdout.trim(), "utf8")).toMatch(/nothing handed in/);
    for (const flags of [
      ["--script", join(example, "model.yaml")],
      ["--sandbox", "jail"],
    ]) {
      const refused = await resident.say(place, ["grade", example, "--out", out, ...flags]);
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("its operator chooses the models and the sandbox"),
      });
    }
    // The rubric changed. The server gets the confirmation of the person who saw the voided grades.
    const strict = join(place.cwd, "strict.md");
    const text = readFileSync(join(example, "rubric.md"), "utf8");
    writeFileSync(strict, text.replace("Names and structure are easy", "Names are easy"));
    const change = ["grade", example, "--sample", "1", "--out", out, "--rubric", strict];
    const asked = await resident.say(place, change);
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("CLASS_RUBRIC_CHANGED") });
    const confirmed = await resident.say(place, [...change, "--yes"]);
    expect(confirmed, confirmed.stderr).toMatchObject({ code: 3, stderr: expect.stringContaining("changed: names") });
    const back = await resident.say(place, [...change.slice(0, -2), "--yes"]);
    expect(back, back.stderr).toMatchObject({ code: 0 });
    // The server uses a corrected model. A script answers only a local worker.
    const resumed = await resident.say(place, ["resume", example, "--model", "gpt-5-nano"]);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    const misspelt = await resident.say(place, ["resume", example, "--model", "gpt-5-mimi"]);
    expect(misspelt).toMatchObject({ code: 2, stderr: expect.stringContaining("MODEL_NOT_IN_CATALOGUE") });
    const scripted = await resident.say(place, ["resume", example, "--script", join(example, "model.yaml")]);
    expect(scripted).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("its operator chooses the models and the sandbox"),
    });
    await resident.say(place, ["pause", example]);
    const halted = await resident.say(place, ["regrade", example, "--where", "outcome=graded", "--yes"]);
    expect(halted).toMatchObject({ code: 1, stderr: expect.stringContaining("CLASS_PAUSED") });
  },
  300_000,
);
