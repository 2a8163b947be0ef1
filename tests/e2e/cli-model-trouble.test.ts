// The output about a model that shows its reasoning, is cut, or fails.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type MarkmillPlace, makePlace, markmill, startMarkmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({ MODEL_TIMEOUT_MS: "1500", SANDBOX: "none" });
  writeFileSync(
    join(place.cwd, "look.wf.md"),
    '# Look\n\n# Workflow\n\n```mermaid\nflowchart TD\n  START --> PROMPT_A["Prompt: User Look"] --> SUCCESS\n```\n\n# Prompts\n\n## User Look\n\nLook.\n',
  );
  writeFileSync(
    join(place.cwd, "replies.yaml"),
    [
      "rules:",
      "  - { when: { nth: 1 }, reply: Too early, fault: { cut: 3 } }",
      "  - { when: { nth: 2 }, fault: reasoning }",
      "default: { reply: '<think>it lacks a test</think>Seven, because', finish: length }",
    ].join("\n"),
  );
  expect((await markmill(place, ["up", "--detach"])).code).toBe(0);
});
afterAll(async () => {
  await resident.close();
  await markmill(place, ["down"]);
  await place.remove();
});

it("run, logs, history and status show reasoning, cut replies and calls without a reply", async () => {
  const ran = await resident.say(place, ["run", "look.wf.md", "--script", "replies.yaml"]);
  expect(ran).toMatchObject({ code: 0, stdout: "Seven, because\n" });
  expect(ran.stderr).toContain("3 model calls, 1 without a reply");
  expect(ran.stderr).toContain("cut at the output limit");
  expect(ran.stderr).toContain("MODEL_EMPTY_REPLY");

  const logs = await resident.say(place, ["logs", "last"]);
  for (const told of ["MODEL_CONNECTION_CUT", "MODEL_EMPTY_REPLY", "cut at the output limit"]) {
    expect(logs.stdout).toContain(told);
  }

  const history = (await resident.say(place, ["history", "last"])).stdout;
  expect(history).toContain("Reasoning, not part of the reply:\n```\nit lacks a test\n```");
  expect(history).toContain("I look.");
  expect(history).toContain("The reply ended at the limit of output tokens.");
  expect(history).toContain("3 model calls, 1 without a reply");

  const status = JSON.parse((await resident.say(place, ["status", "last", "--json"])).stdout);
  expect(status.spent).toMatchObject({ calls: 3, unsure: { calls: 1 } });
  const listed = JSON.parse((await resident.say(place, ["status", "--json"])).stdout);
  expect(listed.items[0].spent).toMatchObject({ calls: 3, unsure: { calls: 1 } });
  expect(listed.items[0].spent.nanodollars).toBe(status.spent.nanodollars);
});

it("run, status, logs and doctor show a paused model with the reason", async () => {
  writeFileSync(
    join(place.cwd, "slow.yaml"),
    "default: { fault: { status: 429, retryAfter: 86400, message: Slow down } }\n",
  );
  const run = startMarkmill(place, ["run", "look.wf.md", "--script", "slow.yaml"]);
  const paused = /scripted at http:\S+ is paused for all runs: 429 Slow down \(refused once, tested again in (4 m|5 m)/;
  try {
    await run.says("stderr", /waits for scripted \(MODEL_RATE_LIMITED.*Slow down/);
    expect((await resident.say(place, ["status", "last"])).stdout).toMatch(paused);
    expect((await resident.say(place, ["status"])).stderr).toMatch(paused);
    expect(JSON.parse((await resident.say(place, ["status", "--json"])).stdout).pauses).toMatchObject([
      { model: "scripted", reason: "429 Slow down" },
    ]);
    expect((await resident.say(place, ["logs", "last"])).stdout).toContain("Slow down");
    expect((await resident.say(place, ["doctor", "--quick"])).stdout).toMatch(/warn {2}pause +scripted at/);
  } finally {
    await resident.say(place, ["cancel", "last"]);
    await run.ended;
  }
});
