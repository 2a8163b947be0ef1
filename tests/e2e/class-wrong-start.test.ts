// A class or run that started with the wrong model, key, endpoint or script continues with the right one. At best it does not start.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const flow = `---
submission: required
patience: 1s
settings: { maxOutputTokens: 400 }
grade: { twice: never }
---
# Judge

# Workflow

\`\`\`mermaid
flowchart TD
  START --> GRADE_IT["Grade: Judge it"] --> SUCCESS
  GRADE_IT --> |FALSE| FAILED
\`\`\`

# Rubric

| id | criterion | points | source | evidence |
|---|---|---|---|---|
| clear | It is clear | 4 | llm | no |
`;
const right = `default:
  reply: |
    {"criteria": {"clear": {"points": 3, "comment": "It is clear.", "evidence": [], "confidence": 0.9}}, "nextSteps": []}
`;

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
let keyless: Server;
const asked: string[] = [];
beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({ SANDBOX: "none" });
  keyless = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "Incorrect API key provided", code: "invalid_api_key" } }));
  });
  await new Promise<void>((resolve) => keyless.listen(0, "127.0.0.1", resolve));
  mkdirSync(join(place.cwd, "first/submissions/ada"), { recursive: true });
  mkdirSync(join(place.cwd, "first/submissions/ben"), { recursive: true });
  writeFileSync(join(place.cwd, "first/class.yaml"), "name: First\nworkflow: grade.wf.md\nsubmissions: submissions\n");
  writeFileSync(join(place.cwd, "first/grade.wf.md"), flow);
  for (const name of ["ada", "ben"])
    writeFileSync(join(place.cwd, `first/submissions/${name}/main.js`), `console.log("${name}")\n`);
  for (const name of ["second", "third", "fourth"])
    cpSync(join(place.cwd, "first"), join(place.cwd, name), { recursive: true });
  writeFileSync(join(place.cwd, "right.yaml"), right);
  writeFileSync(join(place.cwd, "refusing.yaml"), "default: { fault: { status: 401, message: Wrong key } }\n");
  writeFileSync(join(place.cwd, "invalid.yaml"), "default: { fault: { status: 400, message: No such thing } }\n");
});
afterAll(async () => {
  keyless.close();
  await resident.close();
  await place.remove();
});

const say = (...words: string[]) => resident.say(place, words);
const graded = { code: 0, stdout: expect.stringMatching(/ada +graded +3[\s\S]*ben +graded +3/) };
const continues = expect.stringContaining("2 submissions continue with the script right.yaml");

describe("a class with a wrong start", () => {
  it.each([
    ["without a model", [], /MODEL_NOT_CHOSEN.*\n +fix: Pass --model/],
    ["with a misspelt model", ["--model", "gpt-5-mimi"], /MODEL_NOT_IN_CATALOGUE.*Did you mean gpt-5-mini\?\n +fix: /],
  ])("does not start: %s", async (_, words, told) => {
    expect(await say("grade", "first", ...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(told) });
    expect((await say("status", "--batches")).stderr).toContain("There is no class yet");
  });

  it("does not start with a wrong key or a wrong endpoint, and sends no paid request", async () => {
    const at = (url: string) => ({
      ...place,
      env: { ...place.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "wrong-key-of-mine" },
    });
    const url = `http://127.0.0.1:${(keyless.address() as AddressInfo).port}/v1`;
    const words = ["grade", "first", "--model", "gpt-5-mini"];
    const refused = await resident.say(at(url), words);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/MODEL_KEY_REFUSED[\s\S]*fix: Set OPENAI_API_KEY/),
    });
    expect(asked).toEqual(["GET /v1/models"]);
    expect(await resident.say(at("http://127.0.0.1:4/v1"), words)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/MODEL_UNREACHABLE[\s\S]*fix: Check OPENAI_BASE_URL/),
    });
    expect((await say("status", "--batches")).stderr).toContain("There is no class yet");
  });

  it("does not start with an unpriced model and a budget", async () => {
    writeFileSync(join(place.cwd, "any.yaml"), "allowUnpriced: true\n");
    const env = { ...place.env, MODELS_FILE: join(place.cwd, "any.yaml") };
    const words = ["grade", "first", "--model", "mine", "--budget", "1"];
    expect(await resident.say({ ...place, env }, words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("MODEL_UNPRICED"),
    });
  });

  it("continues with another script while it waits for a script that refuses the key, and reports that", async () => {
    expect(await say("grade", "first", "--script", "refusing.yaml")).toMatchObject({ code: 8 });
    expect(await say("grade", "first", "--script", "right.yaml")).toMatchObject({ ...graded, stderr: continues });
    // The result files are written again without any model.
    expect(await say("grade", "first")).toMatchObject(graded);
  });

  it("continues with another script after all its requests were invalid", async () => {
    expect(await say("grade", "second", "--script", "invalid.yaml")).toMatchObject({ code: 3 });
    expect(await say("grade", "second", "--script", "right.yaml")).toMatchObject({ ...graded, stderr: continues });
  });

  it("can be resumed with another script", async () => {
    expect(await say("grade", "third", "--script", "refusing.yaml")).toMatchObject({ code: 8 });
    expect(await say("resume", "third", "--model", "gpt-5-mimi")).toMatchObject({ code: 2 });
    expect(await say("resume", "third", "--script", "right.yaml")).toMatchObject({ ...graded, stderr: continues });
  });

  it("can be regraded with another script", async () => {
    expect(await say("grade", "fourth", "--script", "refusing.yaml")).toMatchObject({ code: 8 });
    const regraded = await say("regrade", "fourth", "--where", "late=no", "--script", "right.yaml", "--yes");
    expect(regraded).toMatchObject({ code: 0, stderr: continues });
    expect(regraded.stdout).toMatch(/ada: .*→ 3/);
  });
});

it("a single run without a paid reply restarts with another script", async () => {
  writeFileSync(
    join(place.cwd, "hi.wf.md"),
    '---\npatience: 1s\n---\n# Hi\n\n# Workflow\n\n```mermaid\nflowchart TD\n  START --> PROMPT_A["Prompt: User Hi"] --> SUCCESS\n```\n\n# Prompts\n\n## User Hi\n\nHi.\n',
  );
  writeFileSync(join(place.cwd, "hi.yaml"), "default: { reply: Hello }\n");
  expect(await say("run", "hi.wf.md", "--script", "refusing.yaml")).toMatchObject({ code: 8 });
  expect(await say("resume", "last", "--script", "hi.yaml")).toMatchObject({ code: 0, stdout: "Hello\n" });
});
