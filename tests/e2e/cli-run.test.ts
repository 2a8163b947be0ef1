// `markmill run` and related commands on the embedded stack of one directory. Commands that use a running server share one process.
// Tests of streams, signals and parallel processes have processes of their own.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseScript, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace, markmill, startMarkmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { until } from "../support/until.ts";
import { writeWorkflows } from "./cli-workflows.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
let model: { url: string; log(): string; requests(): Promise<{ messages: { content: string }[] }[]> };

beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({}, { jail: "proven" });
  writeWorkflows(place.cwd);
  expect((await markmill(place, ["up", "--detach"])).code).toBe(0);
  const served = startMarkmill(place, ["mock-model", "replies.yaml", "--port", "0", "--log"]);
  const [url] = await served.says("stdout", /http:\S+/);
  model = {
    url,
    log: () => served.stderr(),
    requests: async () => ((await (await fetch(new URL("/log", url))).json()) as { requests: never }).requests,
  };
  stopModel = async () => {
    served.child.kill("SIGINT");
    expect(await served.ended).toMatchObject({ code: 0 });
  };
});
let stopModel = async () => {};
afterAll(async () => {
  try {
    await stopModel();
  } finally {
    await resident.close();
    const { stderr } = await markmill(place, ["down"]);
    await place.remove();
    expect(stderr).toMatch(/stopped: process \d+/);
  }
});

const scripted = ["--script", "replies.yaml"];
const runIdIn = (text: string) => /^run: (\S+)$/m.exec(text)?.[1] ?? "";

describe("markmill run", () => {
  it("prints only RESULT on stdout, and exits with 0", async () => {
    const { code, stdout, stderr } = await markmill(place, ["run", "greet.wf.md", "NAME=Ada=Lovelace", ...scripted]);
    expect(stderr).toContain("success: Greet (1 step, 1 model call, 15 tokens");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Welcome, Ada=Lovelace!\n" });
  });

  it("takes parameters from a file, words override them, and a value may be the text of a file", async () => {
    const given = ["run", "greet.wf.md", "--param-file", "params.yaml", ...scripted];
    const [fromFile, fromWord] = await Promise.all([
      resident.say(place, given),
      resident.say(place, [...given, "NAME=file:name.txt"]),
    ]);
    expect(fromFile.stdout).toBe("Welcome, from the file!\n");
    expect(fromWord.stdout).toBe("Welcome, a = b!\n");
  });

  it("prints one JSON object with --json", async () => {
    const { code, stdout } = await resident.say(place, [
      "run",
      "greet.wf.md",
      "NAME=",
      "--json",
      "--label",
      "term=1",
      ...scripted,
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "success",
      result: "Welcome, !",
      reason: null,
      spent: { calls: 1, promptTokens: 10, completionTokens: 5 },
      labels: { term: "1" },
      warnings: [],
    });
  });

  it("exits with 1 when the run fails, with the reason and the next step", async () => {
    const { code, stdout, stderr } = await resident.say(place, ["run", "fail.wf.md"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/reason: CHECK_FALSE: [\s\S]*next: markmill retry [0-9a-f]{12} /);
  });

  it("never shows ✓ for a failed step, and logs and history show every failure with its reason", async () => {
    const { stderr } = await resident.say(place, ["run", "fail.wf.md"]);
    const id = runIdIn(stderr);
    expect(stderr).toMatch(/^✗ CHECK_NO {2}CHECK_FALSE: /m);
    const [logs, json, history] = await Promise.all([
      resident.say(place, ["logs", id]),
      resident.say(place, ["logs", id, "--json"]),
      resident.say(place, ["history", id]),
    ]);
    expect(logs.stdout).toMatch(/✗ CHECK_NO {2}CHECK_FALSE: .*false\n.* ✗ ended: failed: CHECK_FALSE: .*\n$/);
    expect(logs.stdout + stderr).not.toContain("✓");
    expect(JSON.parse(json.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      failed: [{ node: "CHECK_NO", failure: { code: "CHECK_FALSE" } }],
      ended: { status: "failed", reason: { code: "CHECK_FALSE" } },
    });
    expect(history.stdout).toMatch(
      /, failed {2}=> DOING\n[\s\S]*\*\*CHECK_FALSE\*\*: [\s\S]*FAILED {2}=> FAILED\n[\s\S]*CHECK_FALSE/,
    );
  });

  it("executes no terminal sequence of a model: RESULT is exact in a pipe, and all else is escaped", async () => {
    const reply = "a\u001b[2J\u009b31m\u202eb\u200b\u3164c";
    const { code, stdout, stderr } = await markmill(place, ["run", "hostile.wf.md", ...scripted]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${reply}\n` });
    const id = runIdIn(stderr);
    const said = await Promise.all(
      [
        ["logs", id],
        ["logs", id, "--json"],
        ["history", id],
        ["history", id, "--json"],
        ["status", id, "--json"],
      ].map((args) => resident.say(place, args)),
    );
    for (const text of [stderr, ...said.map((one) => one.stdout + one.stderr)]) {
      expect(text).not.toMatch(/(?![\n\t])\p{Cc}|\p{Cf}|\u3164/u);
    }
    expect(said[2]?.stdout).toContain("a␛[2J�31m<U+202E>b<U+200B><U+3164>c");
    expect(JSON.parse(said[4]?.stdout ?? "")).toMatchObject({ result: reply });
  });

  it("shows for each check whether it was true or false, while it runs and in the logs", async () => {
    const { code, stderr } = await resident.say(place, ["run", "checks.wf.md", "NAME=Ada"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^✓ CHECK_BOB {2}false\n✓ CHECK_ADA {2}true$/m);
    const watched = await resident.say(place, ["watch", runIdIn(stderr)]);
    expect(watched.stderr).toMatch(/^✓ CHECK_BOB {2}false\n✓ CHECK_ADA {2}true$/m);
    const { stdout } = await resident.say(place, ["logs", runIdIn(stderr), "--json"]);
    const checked = stdout.split("\n").flatMap((line) => (line === "" ? [] : (JSON.parse(line).checked ?? [])));
    expect(checked).toMatchObject([
      { activity: { node: "CHECK_BOB" }, holds: false },
      { activity: { node: "CHECK_ADA" }, holds: true },
    ]);
  });

  it("exits with 5 when tokens or money are used up", async () => {
    const [tokens, money] = await Promise.all([
      resident.say(place, ["run", "greet.wf.md", "NAME=x", "--max-tokens", "3", ...scripted]),
      resident.say(place, ["run", "greet.wf.md", "NAME=x", "--budget", "$0.000000001", ...scripted]),
    ]);
    expect([tokens.code, money.code]).toEqual([5, 5]);
    expect(tokens.stderr).toContain("LIMIT_TOKENS");
    expect(money.stderr).toContain("LIMIT_COST");
  });

  it("exits with 6 for an invalid workflow, and for a warning with --strict", async () => {
    const broken = await resident.say(place, ["run", "broken.wf.md"]);
    expect(broken.code).toBe(6);
    expect(broken.stderr).toContain("broken.wf.md:7:24: error PROMPT_UNKNOWN");
    const strict = await resident.say(place, ["run", "list.wf.md", "--strict"]);
    expect(strict.code).toBe(6);
    expect(strict.stderr).toContain("NO_SUBMISSION");
  });

  it("refuses to start with a missing parameter, submission or file, and with an unknown name", async () => {
    const [missing, unknown, required, unread] = await Promise.all([
      resident.say(place, ["run", "greet.wf.md", ...scripted]),
      resident.say(place, ["run", "greet.wf.md", "NAME=x", "NAEM=y", ...scripted]),
      resident.say(place, ["run", "required.wf.md"]),
      resident.say(place, ["run", "essay.wf.md"]),
    ]);
    for (const one of [missing, unknown, required, unread]) {
      expect(one).toMatchObject({ code: 2, stdout: "" });
      expect(one.stderr).not.toMatch(/^run: /m);
    }
    expect(missing.stderr).toMatch(/error PARAM_MISSING: NAME has no value/);
    expect(unknown.stderr).toMatch(/error PARAM_UNKNOWN: .*NAEM\.\n {2}fix: Did you mean NAME\?/);
    expect(required.stderr).toMatch(/error SUBMISSION_REQUIRED: [\s\S]*--submission/);
    expect(unread.stderr).toMatch(/error FILE_NOT_GIVEN: .*a\.txt/);
  });

  it("accepts a submission with --strict, and so does validate", async () => {
    const given = ["--strict", "--submission", "submission"];
    expect(await resident.say(place, ["run", "essay.wf.md", "--sandbox", "none", ...given])).toMatchObject({
      code: 0,
      stdout: "a\n",
    });
    expect((await resident.say(place, ["validate", "essay.wf.md", ...given])).code).toBe(0);
    expect((await resident.say(place, ["validate", "essay.wf.md", "--strict"])).code).toBe(6);
  });

  it("warns of commands without a submission before the start, and records the warning", async () => {
    const { stderr } = await resident.say(place, ["run", "list.wf.md", "--sandbox", "none"]);
    expect(stderr).toMatch(/^warning NO_SUBMISSION: .*empty folder/);
    const { stdout } = await resident.say(place, ["logs", runIdIn(stderr)]);
    expect(stdout).toContain("! NO_SUBMISSION");
  });

  it.each([
    [["run"], "Name a workflow file"],
    [["run", "greet.wf.md", "NAME"], "not of the form KEY=VALUE"],
    [["run", "greet.wf.md", "--budget", "much"], "--budget is an amount"],
    [["run", "greet.wf.md", "--sandbox", "chroot"], "--sandbox must be auto, docker, jail or none"],
    [["run", "greet.wf.md", "--script", "none.yaml"], "Script none.yaml not found"],
    [["run", "greet.wf.md", "NAME=file:/etc/passwd"], "outside the workflow's folder"],
    [["run", "greet.wf.md", "--frobnicate"], "--frobnicate"],
    [["valdate"], "Did you mean 'validate'?"],
  ])("exits with 2 for wrong words: %j", async (args, words) => {
    const { code, stdout, stderr } = await resident.say(place, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
  });

  it("gives commands the submission without links out of its folder, and reports the removed links", async () => {
    const { code, stdout } = await resident.say(place, [
      "run",
      "list.wf.md",
      "--sandbox",
      "none",
      "--submission",
      "submission",
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "$ ls -1\na.txt\nsub\n" });
    mkdirSync(join(place.cwd, "evil"));
    symlinkSync("/etc/passwd", join(place.cwd, "evil/answers"));
    writeFileSync(join(place.cwd, "evil/essay.md"), "text");
    const listed = async (submission: string) =>
      await resident.say(place, ["run", "list.wf.md", "--sandbox", "none", "--submission", submission]);
    const evil = await listed("evil");
    expect({ code: evil.code, stdout: evil.stdout }).toEqual({ code: 0, stdout: "$ ls -1\nessay.md\n" });
    const note = "answers is a link to /etc/passwd, outside the submission, and was skipped";
    expect(evil.stderr).toContain(`! ${note}\n`);
    const [id = ""] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(evil.stderr) ?? [];
    expect((await resident.say(place, ["history", id])).stdout).toMatch(
      /Warning: SUBMISSION_NOTE[\s\S]*answers is a link to/,
    );
    execFileSync("tar", ["-czf", join(place.cwd, "work.tgz"), "-C", join(place.cwd, "submission"), "."]);
    expect(await listed("work.tgz")).toMatchObject({ code: 0, stdout: "$ ls -1\na.txt\nsub\n" });
    expect(await listed("evil/essay.md")).toMatchObject({ code: 0, stdout: "$ ls -1\nessay.md\n" });
    execFileSync("tar", ["-cf", join(place.cwd, "evil.tar"), "-C", join(place.cwd, "evil"), "."]);
    const refused = await listed("evil.tar");
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/SUBMISSION_ARCHIVE_LINK: .*answers[\s\S]*fix: /);
  });

  it("reports a missing model choice before a run exists", async () => {
    const { code, stderr } = await resident.say(place, ["run", "greet.wf.md", "NAME=x"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/MODEL_NOT_CHOSEN[\s\S]*fix: Pass --model NAME/);
  });
});

describe("a detached run", () => {
  it("continues after --detach, and status and watch find it by a part of its id", async () => {
    const detached = await resident.say(place, ["run", "two.wf.md", "--detach", ...scripted]);
    expect(detached).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    const id = detached.stdout.trim();
    const watched = await resident.say(place, ["watch", id.slice(-12)]);
    expect(watched).toMatchObject({ code: 0, stdout: "two\n" });
    const { stdout } = await resident.say(place, ["status", id, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ id, status: "success", hits: { PROMPT_TWO: 1 } });
    const listed = await resident.say(place, ["status"]);
    expect(listed.stdout).toMatch(new RegExp(`^${id}  success `, "m"));
  });

  it("is answered later by another process, and the answer reaches the called run", async () => {
    const detached = await resident.say(place, ["run", "ask.wf.md", "--detach", "--json", ...scripted]);
    const id = JSON.parse(detached.stdout).id;
    for (let asks = ""; asks === ""; ) asks = (await resident.say(place, ["answer", id])).stdout;
    const answered = await markmill(place, ["answer", id, "-"], "pass, with 9 points\n");
    expect(answered.code).toBe(0);
    const watched = await resident.say(place, ["watch", id]);
    expect(watched).toMatchObject({ code: 0, stdout: "The verdict is pass, with 9 points.\n" });
    const again = await resident.say(place, ["answer", id, "too", "late"]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("ASK_NOT_FOUND") });

    const logs = await resident.say(place, ["logs", id]);
    expect(logs.stdout).toMatch(
      /ASK_TEACHER {2}pass, with 9 points[\s\S]*started Echo[\s\S]*CALL_ECHO {2}returned success/,
    );
    const history = await resident.say(place, ["history", id, "--out", "histories"]);
    expect(history.stdout).toBe("histories/01_Ask.wfh.md\nhistories/02_Echo.wfh.md\n");
    expect(readdirSync(join(place.cwd, "histories"))).toHaveLength(2);
    expect(readFileSync(join(place.cwd, "histories/01_Ask.wfh.md"), "utf8")).toContain(
      "[02_Echo.wfh.md](02_Echo.wfh.md)",
    );
    const replayed = await resident.say(place, ["replay", id]);
    expect(replayed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^identical: .* Ask .*\nidentical: .* Echo /),
    });
  });

  it("is cancelled once", async () => {
    const id = (await resident.say(place, ["run", "ask.wf.md", "--detach", ...scripted])).stdout.trim();
    expect(await resident.say(place, ["cancel", id, "--reason", "wrong class"])).toMatchObject({ code: 0 });
    const { code, stderr } = await resident.say(place, ["watch", id]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^cancelled: Ask [\s\S]*wrong class/m);
    expect((await resident.say(place, ["cancel", id])).code).toBe(1);
  });

  it("keeps the end it has reached when it is cancelled in its handler, and cancel reports that", async () => {
    const id = (await resident.say(place, ["run", "handled.wf.md", "--detach", ...scripted])).stdout.trim();
    for (let asks = ""; asks === ""; ) asks = (await resident.say(place, ["answer", id])).stdout;
    const { code, stderr } = await resident.say(place, ["cancel", id]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `${id} had already ended: success. It was not cancelled; its handlers were stopped.\n`,
    });
    expect(await resident.say(place, ["watch", id])).toMatchObject({ code: 0, stdout: "seven points\n" });
  });

  it("is repeated by retry, as a new run with the same inputs", async () => {
    const first = await resident.say(place, ["run", "greet.wf.md", "NAME=Ada", "--max-tokens", "3", ...scripted]);
    const { code, stdout, stderr } = await resident.say(place, [
      "retry",
      runIdIn(first.stderr),
      "--max-tokens",
      "100000",
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Welcome, Ada!\n" });
    expect(runIdIn(stderr)).not.toBe(runIdIn(first.stderr));
    expect(stderr).toMatch(/^new run from PROMPT_HI: .* not paid for again$/m);
    const whole = await resident.say(place, ["retry", runIdIn(stderr), "--from", "START"]);
    expect({ code: whole.code, stdout: whole.stdout }).toEqual({ code: 0, stdout: "Welcome, Ada!\n" });
    expect(whole.stderr).toMatch(/^new run from the start: .* paid for again$/m);
  });
});

describe("an interrupted run", () => {
  it("is continued by watch, and every prompt is sent once", async () => {
    const alone = await makePlace({ OPENAI_BASE_URL: model.url }, { postgres: "running" });
    try {
      writeWorkflows(alone.cwd);
      const before = (await model.requests()).length;
      const started = startMarkmill(alone, ["run", "three.wf.md", "--model", "scripted"]);
      await started.says("stderr", /PROMPT_ONE/);
      started.child.kill("SIGINT");
      const interrupted = await started.ended;
      expect(interrupted).toMatchObject({ code: 130, stdout: "" });
      const id = /markmill watch (\S+)/.exec(interrupted.stderr)?.[1] ?? "";
      expect(JSON.parse((await resident.say(alone, ["status", id, "--json"])).stdout)).toMatchObject({
        status: "doing",
      });
      // Another run in the same directory does not affect it.
      expect((await resident.say(alone, ["run", "greet.wf.md", "NAME=x", "--model", "scripted"])).code).toBe(0);
      expect(JSON.parse((await resident.say(alone, ["status", id, "--json"])).stdout)).toMatchObject({
        status: "doing",
      });
      expect(await resident.say(alone, ["watch", id])).toMatchObject({ code: 0, stdout: "three\n" });
      const asked = (await model.requests()).slice(before).map(({ messages }) => messages.at(-1)?.content.trim());
      expect(asked).toEqual(["Say one.", "Say two.", "Greet x.", "Say three."]);
      expect(model.log()).toMatch(/^\d+ {2}reply .* Say one\.$/m);
    } finally {
      await alone.remove();
    }
  });

  it("ends at once at the second Ctrl-C, and can still be continued", async () => {
    const alone = await makePlace();
    const script = parseScript("default: { reply: slow, delay: 120s }\n", "slow.yaml");
    if (!script.ok) throw new Error(JSON.stringify(script.findings));
    const slow = await startScriptedModel({ script: script.script, port: 0 });
    try {
      writeWorkflows(alone.cwd);
      const env = { ...alone.env, OPENAI_BASE_URL: slow.url };
      const working = startMarkmill({ ...alone, env }, ["run", "two.wf.md", "--model", "scripted"]);
      // There is no other worker, so the process that sent the request already handles signals.
      await until(() => slow.requests().length > 0);
      working.child.kill("SIGINT");
      await working.says("stderr", /interrupted/);
      working.child.kill("SIGINT");
      expect((await working.ended).code).toBe(130);
      expect(JSON.parse((await resident.say(alone, ["status", "last", "--json"])).stdout)).toMatchObject({
        status: "doing",
      });
      expect((await resident.say(alone, ["cancel", "last"])).code).toBe(0);
    } finally {
      await slow.close();
      await alone.remove();
    }
  });
});

describe("two parallel runs in one directory", () => {
  it("are each answered by their own script and use their own sandbox", async () => {
    writeFileSync(join(place.cwd, "other.yaml"), "default: { reply: other, delay: 300ms }\n");
    const [one, other, listed] = await Promise.all([
      markmill(place, ["run", "two.wf.md", ...scripted]),
      markmill(place, ["run", "two.wf.md", "--script", "other.yaml"]),
      markmill(place, ["run", "list.wf.md", "--sandbox", "none", "--submission", "submission"]),
    ]);
    expect([one.stdout, other.stdout, listed.stdout]).toEqual(["two\n", "other\n", "$ ls -1\na.txt\nsub\n"]);
  });
});
