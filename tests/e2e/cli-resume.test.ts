// A run whose model cannot be reached waits, is interrupted and continues. A failed run continues from the failed step.
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { writeWorkflows } from "./cli-workflows.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;

beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({ OPENAI_API_KEY: "test", DEFAULT_MODEL: "scripted" }, { postgres: "running" });
  writeWorkflows(place.cwd);
});
afterAll(async () => {
  await resident.close();
  await place.remove();
});

const runIdIn = (text: string) => /^run: (\S+)$/m.exec(text)?.[1] ?? "";

async function withModel<Result>(
  text: string,
  act: (there: MarkmillPlace, model: ScriptedModel) => Promise<Result>,
): Promise<Result> {
  const script = parseScript(text, "model.yaml");
  if (!script.ok) throw new Error(JSON.stringify(script.findings));
  const model = await startScriptedModel({ script: script.script, port: 0 });
  try {
    return await act({ ...place, env: { ...place.env, OPENAI_BASE_URL: model.url } }, model);
  } finally {
    await model.close();
  }
}

describe("a run whose model cannot be reached", () => {
  it("waits, shows what it waits for, is interrupted with its own exit code, and resumes at that step", async () => {
    const first = await markmill(place, ["run", "greet.wf.md", "NAME=Ada", "--patience", "2s"]);
    expect({ code: first.code, stdout: first.stdout }).toEqual({ code: 8, stdout: "" });
    expect(first.stderr).toContain("interrupted: Greet");
    expect(first.stderr).toMatch(/reason: PROMPT_HI waits for scripted at \S*127\.0\.0\.1:1\S*: MODEL_/);
    expect(first.stderr).toMatch(/next: markmill resume [0-9a-f]{12} /);
    expect(first.stderr).not.toContain("✗");
    const id = runIdIn(first.stderr);

    const listed = JSON.parse((await resident.say(place, ["status", "--json"])).stdout);
    expect(listed.items[0]).toMatchObject({ id, status: "doing", waits: [{ held: true }] });
    const one = await resident.say(place, ["status", id]);
    expect(one.stdout).toMatch(/^interrupted: Greet[\s\S]*^waits: PROMPT_HI waits for scripted/m);

    const script = `rules:\n  - when: { pattern: 'Greet (?<who>.*)\\.' }\n    reply: "Welcome, {{who}}!"\n`;
    const resumed = await withModel(script, (there) => resident.say(there, ["resume", id]));
    expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 0, stdout: "Welcome, Ada!\n" });
    const logs = await resident.say(place, ["logs", id]);
    expect(logs.stdout).toMatch(/MODEL_[A-Z_]+[\s\S]*resumed[\s\S]*✓ PROMPT_HI/);
    expect((await resident.say(place, ["resume", id])).stderr).toContain("RUN_ENDED");
  });
});

describe("a failed run", () => {
  it("continues from the failed step by retry or resume, and repeats no earlier request", async () => {
    const script = `rules:
  - { when: { text: "Say one" }, reply: one }
  - { when: { text: "Say two", nth: [1] }, fault: { status: 400, message: "too odd" } }
  - { when: { text: "Say two" }, reply: two }
  - { when: { text: "Say three" }, reply: three }
`;
    await withModel(script, async (there, model) => {
      const first = await resident.say(there, ["run", "three.wf.md"]);
      expect(first.code).toBe(1);
      const again = await resident.say(there, ["retry", runIdIn(first.stderr)]);
      expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: "three\n" });
      expect(again.stderr).toContain("new run from PROMPT_TWO");
      expect(again.stderr).not.toContain("PROMPT_ONE");
      expect(model.requests().map(({ messages }) => messages.at(-1)?.content?.trim())).toEqual([
        "Say one.",
        "Say two.",
        "Say two.",
        "Say three.",
      ]);
      const history = await resident.say(there, ["history", runIdIn(again.stderr)]);
      expect(history.stdout).toContain("Say one.");
      expect(history.stdout).toContain(runIdIn(first.stderr));
      expect((await resident.say(there, ["replay", runIdIn(again.stderr)])).code).toBe(0);
    });
  });

  it("names the command that lists the nodes when the given node is unknown", async () => {
    const { code, stderr } = await resident.say(place, ["retry", "last", "--from", "PROMPT_NOWHERE"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/STORE_NO_FORK[\s\S]*never came to PROMPT_NOWHERE[\s\S]*markmill logs/);
  });
});
