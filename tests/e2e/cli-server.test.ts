// The commands of the client with a server: MARKMILL_URL and MARKMILL_TOKEN.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { askingWorkflow, callingFiles, startApi, type TestApi } from "../support/api.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

let mill: Mill;
let api: TestApi;
let resident: ResidentMarkmill;
let place: MarkmillPlace & { remove(): Promise<void> };
beforeAll(async () => {
  resident = await residentMarkmill();
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
  place = await makePlace({ MARKMILL_URL: api.url, MARKMILL_TOKEN: await api.key(["owner"]) });
  for (const [path, text] of Object.entries({ ...callingFiles, "ask.wf.md": askingWorkflow })) {
    writeFileSync(join(place.cwd, path), text);
  }
});
afterAll(async () => {
  await resident?.close();
  await place?.remove();
  await api?.close();
  await mill?.close();
});

const runIdIn = (text: string) => /^run: (\S+)$/m.exec(text)?.[1] ?? "";

it("run, status, logs, history, watch, retry, answer and cancel work with the server", async () => {
  const first = await markmill(place, ["run", "main.wf.md", "--label", "team=red"]);
  expect({ code: first.code, stdout: first.stdout }, first.stderr).toEqual({ code: 0, stdout: "done\n" });
  const id = runIdIn(first.stderr);
  expect((await mill.ended(id)).labels).toEqual({ team: "red" });
  const status = await resident.say(place, ["status", "last", "--json"]);
  expect(JSON.parse(status.stdout)).toMatchObject({ id, status: "success", result: "done" });
  expect((await resident.say(place, ["status"])).stdout).toContain(id);
  const logs = await resident.say(place, ["logs", id]);
  expect(logs.stdout).toContain("SET_B");
  expect((await resident.say(place, ["history", id])).stdout).toContain("CALL_B");
  expect((await resident.say(place, ["watch", id])).stdout).toBe("done\n");
  const again = await resident.say(place, ["retry", id, "--from", "SET_C"]);
  expect({ code: again.code, stdout: again.stdout }, again.stderr).toEqual({ code: 0, stdout: "done\n" });

  const mended = callingFiles["main.wf.md"].replace("C = 3", "C = 4");
  writeFileSync(join(place.cwd, "mended.wf.md"), mended);
  const other = await resident.say(place, ["retry", id, "--from", "SET_C", "--workflow", "mended.wf.md"]);
  expect({ code: other.code, stdout: other.stdout }, other.stderr).toEqual({ code: 0, stdout: "done\n" });
  expect((await mill.store.as("default").runs.variables(runIdIn(other.stderr)))?.C).toBe("4");
  writeFileSync(join(place.cwd, "mended.wf.md"), mended.replace("SET_C", "SET_D"));
  const lost = await resident.say(place, ["retry", id, "--from", "SET_C", "--workflow", "mended.wf.md"]);
  expect(lost.code).not.toBe(0);
  expect(lost.stderr).toMatch(/has no node SET_C\..*SET_D/);

  const asking = await resident.say(place, ["run", "ask.wf.md", "--detach"]);
  const asked = asking.stdout.trim();
  let open = await resident.say(place, ["answer", asked]);
  while (!open.stdout.includes("ASK_B")) open = await resident.say(place, ["answer", asked]);
  const answered = await resident.say(place, ["answer", asked, "carry", "on"]);
  expect(answered.code, answered.stderr).toBe(0);
  expect((await mill.ended(asked)).status).toBe("success");

  const halted = (await resident.say(place, ["run", "ask.wf.md", "--detach"])).stdout.trim();
  const stopped = await resident.say(place, ["stop", halted]);
  expect(stopped.code, stopped.stderr).toBe(0);
  expect(JSON.parse((await resident.say(place, ["status", halted, "--json"])).stdout)).toMatchObject({
    status: "stopped",
  });

  const dropped = (await resident.say(place, ["run", "ask.wf.md", "--detach"])).stdout.trim();
  expect((await resident.say(place, ["cancel", dropped, "--reason", "enough"])).code).toBe(0);
  expect((await mill.ended(dropped)).status).toBe("cancelled");
});

it("a grader runs a stored definition, retries from the start, and sees which local settings do not apply", async () => {
  const grader = { ...place, env: { ...place.env, MARKMILL_TOKEN: await api.key(["grader"]), DEFAULT_MODEL: "here" } };
  const first = await resident.say(place, ["run", "main.wf.md"]);
  const ran = await resident.say(grader, ["run", "main.wf.md", "--label", "team=blue"]);
  expect({ code: ran.code, stdout: ran.stdout }, ran.stderr).toEqual({ code: 0, stdout: "done\n" });
  expect(ran.stderr).toContain("DEFAULT_MODEL=here");
  expect(first.stderr).not.toContain("DEFAULT_MODEL");
  const again = await resident.say(grader, ["retry", runIdIn(ran.stderr), "--from", "START"]);
  expect({ code: again.code, stdout: again.stdout }, again.stderr).toEqual({ code: 0, stdout: "done\n" });
  const { rows } = await mill.store.machine.database.calm.query<{ forked_from: string; labels: unknown }>(
    "select forked_from, labels from runs where id = $1",
    [runIdIn(again.stderr)],
  );
  expect(rows).toEqual([{ forked_from: runIdIn(ran.stderr), labels: { team: "blue" } }]);
  writeFileSync(join(place.cwd, "new.wf.md"), askingWorkflow.replace("What now?", "And now?"));
  const refused = await resident.say(grader, ["run", "new.wf.md", "--detach"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("FORBIDDEN");
});

it("a run with an environment that the server hides is shown without false statements", async () => {
  const hidden = await startApi(mill, { environment: { MAX_STEPS: "50", TONE: "kind" } });
  const there = { ...place, env: { ...place.env, MARKMILL_URL: hidden.url } };
  try {
    const ran = await resident.say(there, ["run", "main.wf.md"]);
    expect({ code: ran.code, stdout: ran.stdout }, ran.stderr).toEqual({ code: 0, stdout: "done\n" });
    const logs = (await resident.say(there, ["logs", runIdIn(ran.stderr)])).stdout;
    expect(logs).toContain("SET_C");
    expect(logs).toContain("ended: success");
    expect(`${ran.stderr}${logs}`).not.toMatch(/failed|✗|redacted/);
  } finally {
    await hidden.close();
  }
});

it("status reports that the server has no living worker, and lists the requested number of runs", async () => {
  const idle = await startMill({ backend: "postgres", script: "default: { reply: ok }\n", worker: false });
  const server = await startApi(idle);
  const token = await server.key(["owner"]);
  const there = { ...place, env: { ...place.env, MARKMILL_URL: server.url, MARKMILL_TOKEN: token } };
  try {
    const none = "has no running worker";
    const first = await resident.say(there, ["run", "ask.wf.md", "--detach"]);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stderr).toContain(none);
    expect((await resident.say(place, ["run", "ask.wf.md", "--detach"])).stderr).not.toContain(none);
    const owner = await server.client("owner");
    const { definition } = await owner.getRun({ params: { id: first.stdout.trim() } });
    for (let made = 1; made < 205; made++) await owner.startRun({ body: { definition } });
    const listed = await resident.say(there, ["status", "--limit", "500", "--json"]);
    expect(JSON.parse(listed.stdout).items).toHaveLength(205);
  } finally {
    await server.close();
    await idle.close();
  }
});

it("a wrong server address or key is reported with the next step", async () => {
  const wrong = await resident.say({ ...place, env: { ...place.env, MARKMILL_TOKEN: "mm_nothing" } }, ["status"]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("UNAUTHENTICATED");
  const away = await resident.say({ ...place, env: { ...place.env, MARKMILL_URL: "http://127.0.0.1:1" } }, ["status"]);
  expect(away.code).toBe(1);
  expect(away.stderr).toContain("SERVER_UNREACHABLE");
  expect(away.stderr).toContain("MARKMILL_URL");
});
