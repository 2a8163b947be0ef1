// The usual requests of people and programs to the API, over real HTTP.
import { ApiProblem, createClient } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingWorkflow, callingFiles, startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

async function problem(promise: Promise<unknown>): Promise<ApiProblem> {
  const failed = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(ApiProblem);
  return failed as ApiProblem;
}

describe("the API", () => {
  it("accepts a definition, starts a run of it, streams its events, and returns all its records", async () => {
    const owner = await api.client("owner");
    const check = await owner.validateDefinition({ body: { root: "main.wf.md", files: callingFiles } });
    expect(check).toMatchObject({ valid: true, programs: ["main.wf.md", "child.wf.md"] });
    const saved = await owner.saveDefinition({ body: { root: "main.wf.md", files: callingFiles } });
    expect(saved.hash).toBe(check.hash);
    const grader = await api.client("grader");
    const { id, created } = await grader.startRun({ body: { definition: saved.hash, labels: { team: "red" } } });
    expect(created).toBe(true);
    const seen: number[] = [];
    const types: string[] = [];
    const follow = grader.follow(id);
    for (;;) {
      const { value, done } = await follow.next();
      if (done === true) {
        expect(value).toMatchObject({ status: "success" });
        break;
      }
      seen.push(value.seq);
      types.push(value.type);
    }
    const reader = await api.client("reader");
    const run = await reader.getRun({ params: { id } });
    expect(seen).toEqual(Array.from({ length: run.rev }, (_, index) => index + 1));
    expect(types[0]).toBe("run.started");
    expect(run).toMatchObject({ status: "success", result: "done", doing: [], labels: { team: "red" } });
    expect((await reader.getVariables({ params: { id } })).variables).toMatchObject({ A: "1", C: "3" });
    expect((await reader.getHits({ params: { id } })).hits).toMatchObject({ SET_A: 1 });
    const { items: children } = await reader.listChildRuns({ params: { id } });
    expect(children).toMatchObject([{ rootId: id, status: "success" }]);
    const { items: activities } = await reader.listActivities({ params: { id } });
    expect(activities.map(({ node }) => node)).toEqual(["SET_A", "CALL_B", "SET_C"]);
    expect(await reader.listCalls({ params: { id } })).toEqual({ items: [], next: null });
    expect(await reader.listToolCalls({ params: { id } })).toEqual({ items: [], next: null });
    expect(await reader.listMessages({ params: { id } })).toEqual({ items: [], next: null });
    const page = await reader.listEvents({ params: { id }, query: { after: 1, limit: 2 } });
    expect(page.items.map(({ seq }) => seq)).toEqual([2, 3]);
    expect((await reader.listRuns({ query: { label: ["team=red"], search: id.slice(0, 8) } })).items).toHaveLength(1);
    expect((await reader.listRuns({ query: { label: ["team=blue"] } })).items).toEqual([]);
    expect(await reader.getUsage({ query: { by: "label", key: "team" } })).toMatchObject({ by: "label" });
    const detail = await reader.getDefinition({ params: { hash: saved.hash } });
    expect(detail.programs).toEqual(["main.wf.md", "child.wf.md"]);
    expect((await reader.getDefinitionSource({ params: { hash: saved.hash } })).files).toEqual(callingFiles);
    expect((await reader.getDefinitionProgram({ params: { hash: saved.hash } })).program).toHaveProperty("nodes");
    expect(await reader.getDefinitionMermaid({ params: { hash: saved.hash } })).toContain("SET_A");
    expect((await reader.listDefinitionVersions({ params: { hash: saved.hash } })).items).toHaveLength(1);
    expect((await reader.listDefinitions()).items).toHaveLength(1);
    const again = await grader.retryRun({ params: { id }, body: { from: ["SET_C"] } });
    await mill.ended(again.id);
    expect(await grader.getRun({ params: { id: again.id } })).toMatchObject({ status: "success" });
    await owner.deleteRun({ params: { id: again.id } });
    expect((await problem(grader.getRun({ params: { id: again.id } }))).code).toBe("NOT_FOUND");
  });

  it("reports every finding of an invalid definition with its line, and the missing inputs of a run", async () => {
    const owner = await api.client("owner");
    const broken = { "a.wf.md": askingWorkflow.replace("SUCCESS", 'CALL_X["CALL: none.wf.md"]') };
    const invalid = await problem(owner.saveDefinition({ body: { root: "a.wf.md", files: broken } }));
    expect(invalid).toMatchObject({ code: "DEFINITION_INVALID", status: 422 });
    expect(invalid.errors).toContainEqual(
      expect.objectContaining({ path: "a.wf.md", code: "CALL_MISSING", line: expect.any(Number) }),
    );
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const lacking = await problem(owner.startRun({ body: { definition: hash, variables: { NOBODY: "x" } } }));
    expect(lacking).toMatchObject({ code: "START_REFUSED" });
    expect(lacking.errors).toContainEqual(expect.objectContaining({ code: "PARAM_UNKNOWN" }));
    for (const path of ["../a.wf.md", "/etc/passwd", "a/../../b", ".env", "x/.ssh/id_rsa", "a\\b"]) {
      const refused = await problem(owner.saveDefinition({ body: { root: path, files: { [path]: askingWorkflow } } }));
      expect(refused.status, path).toBe(400);
    }
  });

  it("accepts one answer to a question, and stops, resumes and cancels a run", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const { id } = await owner.startRun({ body: { definition: hash } });
    const asked = () => until(async () => (await owner.listAsks({ query: { run: id } })).items[0]);
    const ask = await asked();
    const run = await owner.getRun({ params: { id } });
    expect(run.doing).toMatchObject([{ node: "ASK_B", kind: "ask" }]);
    expect((await owner.stopRun({ params: { id } })).status).toBe("stopped");
    expect((await problem(owner.stopRun({ params: { id } }))).code).toBe("RUN_UNCHANGED");
    expect((await problem(owner.answerAsk({ params: { id: ask.id }, body: { text: "late" } }))).code).toBe(
      "ASK_CLOSED",
    );
    expect((await owner.resumeRun({ params: { id } })).resumed).toBe(1);
    const anew = await asked();
    await owner.answerAsk({ params: { id: anew.id }, body: { text: "go \u0000 on" } });
    expect((await problem(owner.answerAsk({ params: { id: anew.id }, body: { text: "twice" } }))).code).toBe(
      "ASK_CLOSED",
    );
    await mill.ended(id);
    expect((await problem(owner.cancelRun({ params: { id } }))).code).toBe("RUN_ENDED");
    const other = await owner.startRun({ body: { definition: hash } });
    expect((await problem(owner.deleteRun({ params: { id: other.id } }))).code).toBe("RUN_OPEN");
    expect((await owner.cancelRun({ params: { id: other.id }, body: { message: "enough" } })).status).toBe("cancelled");
  });

  it("starts one run per Idempotency-Key, also for parallel requests, and refuses the key for another request", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const headers = { "idempotency-key": "one-key" };
    const started = await Promise.all(
      Array.from({ length: 12 }, () => owner.startRun({ headers, body: { definition: hash, labels: { a: "1" } } })),
    );
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    expect(started.filter(({ created }) => created)).toHaveLength(1);
    const reused = await problem(owner.startRun({ headers, body: { definition: hash, labels: { a: "2" } } }));
    expect(reused).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED", status: 409 });
  });

  it("creates one fork per Idempotency-Key, also for parallel requests, and refuses the key for another run or body", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "main.wf.md", files: callingFiles } });
    const [one, other] = await Promise.all([1, 2].map(() => owner.startRun({ body: { definition: hash } })));
    const [first, second] = [one?.id ?? "", other?.id ?? ""];
    await Promise.all([mill.ended(first), mill.ended(second)]);
    const headers = { "idempotency-key": "fork-key" };
    const again = { headers, params: { id: first }, body: { from: ["SET_C"] } };
    const forks = await Promise.all(Array.from({ length: 8 }, () => owner.retryRun(again)));
    expect(new Set(forks.map(({ id }) => id)).size).toBe(1);
    expect(forks.filter(({ created }) => created)).toHaveLength(1);
    const refused = [
      () => owner.retryRun({ ...again, params: { id: second } }),
      () => owner.retryRun({ ...again, body: { from: ["SET_A"] } }),
      () => owner.retryRun({ ...again, body: { from: ["START"] } }),
      () => owner.startRun({ headers, body: { definition: hash } }),
    ];
    for (const ask of refused) expect((await problem(ask())).code).toBe("IDEMPOTENCY_KEY_REUSED");
    const used = { "idempotency-key": "start-key" };
    await owner.startRun({ headers: used, body: { definition: hash } });
    expect((await problem(owner.retryRun({ ...again, headers: used }))).code).toBe("IDEMPOTENCY_KEY_REUSED");
  });

  it("restarts a run with the current definition only if all its inputs exist", async () => {
    const owner = await api.client("owner");
    const text = callingFiles["child.wf.md"].replace(/^# .*$/m, "# Grows");
    const save = (files: Record<string, string>) => owner.saveDefinition({ body: { root: "grows.wf.md", files } });
    const { hash } = await save({ "grows.wf.md": text });
    const { id } = await owner.startRun({ body: { definition: hash } });
    await mill.ended(id);
    await save({ "grows.wf.md": text.replace("START -->", 'PARAMS["WHO"]\n  START -->') });
    const body = { from: ["START"], definition: "current" as const };
    const refused = await problem(owner.retryRun({ params: { id }, body }));
    expect(refused).toMatchObject({ code: "START_REFUSED" });
    expect(refused.errors).toContainEqual(expect.objectContaining({ code: "PARAM_MISSING" }));
    const same = await owner.retryRun({ params: { id }, body: { from: ["START"] } });
    expect((await mill.ended(same.id)).status).toBe("success");
  });

  it("resumes a run at a step with the current definition and keeps all earlier results", async () => {
    const owner = await api.client("owner");
    const chart = (lines: string, name = "Mends") =>
      `# ${name}\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${lines}\n\`\`\`\n`;
    const save = async (lines: string) =>
      await owner.saveDefinition({ body: { root: "mends.wf.md", files: { "mends.wf.md": chart(lines) } } });
    const first = 'START --> SET_A["SET: A = first"] --> SET_B["SET: B = wrong"] --> SET_C["SET: C = 3"] --> FAILED';
    const { id } = await owner.startRun({
      body: { definition: (await save(`  ${first}`)).hash, labels: { team: "red" } },
    });
    expect((await mill.ended(id)).status).toBe("failed");
    // The new definition corrects SET_B, and adds one step before it and one after it.
    const current = await save(
      '  START --> SET_N["SET: N = new"] --> SET_A["SET: A = other"] --> SET_B["SET: B = right {{A}}"] --> SET_Z["SET: Z = 26"] --> SUCCESS',
    );
    const again = await owner.retryRun({ params: { id }, body: { from: ["SET_B"], definition: "current" } });
    expect(again.from).toEqual(["SET_B"]);
    const ended = await mill.ended(again.id);
    expect(ended).toMatchObject({ status: "success", definitionHash: current.hash, labels: { team: "red" } });
    const { variables } = await owner.getVariables({ params: { id: again.id } });
    expect(variables).toMatchObject({ A: "first", B: "right first", Z: "26" });
    expect(variables).not.toHaveProperty("N");
    expect((await mill.store.as("default").runs.replay(again.id)).differences).toEqual([]);
    // The fork of the fork finds its own results.
    const third = await owner.retryRun({ params: { id: again.id }, body: { from: ["SET_Z"] } });
    expect((await mill.ended(third.id)).status).toBe("success");
    expect((await owner.getHits({ params: { id: third.id } })).hits).toMatchObject({ SET_B: 1, SET_Z: 1 });
    const refused = await problem(
      owner.retryRun({ params: { id }, body: { from: ["SET_C"], definition: current.hash } }),
    );
    expect(refused).toMatchObject({ code: "NO_FORK" });
    expect(refused.message).toContain("SET_C");
    expect(
      (await problem(owner.retryRun({ params: { id }, body: { from: ["SET_N"], definition: "current" } }))).code,
    ).toBe("NO_FORK");
    const kind = await save('  START --> SET_B["CHECK: 1 = 1"] --> SUCCESS').catch(() => null);
    if (kind !== null) {
      const other = await problem(owner.retryRun({ params: { id }, body: { from: ["SET_B"], definition: kind.hash } }));
      expect(other.code).toBe("NO_FORK");
    }
  });

  it("answers other requests while it compiles a large definition", async () => {
    const owner = await api.client("owner");
    const steps = Array.from({ length: 6_000 }, (_, n) => `  SET_${n}["SET: A${n} = ${n}"] --> SET_${n + 1}`);
    const lines = ["  START --> SET_0", ...steps, '  SET_6000["SET: Z = 1"] --> SUCCESS'].join("\n");
    const files: Record<string, string> = { "large.wf.md": workflow(lines) };
    let looks = 0;
    let over = false;
    const looking = (async () => {
      while (!over) {
        expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
        looks += 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();
    const found = await owner.validateDefinition({ body: { root: "large.wf.md", files } });
    over = true;
    await looking;
    expect(found.valid || found.findings.length > 0).toBe(true);
    expect(looks).toBeGreaterThan(3);
    const saved = await owner.saveDefinition({
      body: { root: "main.wf.md", files: { ...callingFiles, "notes.md": "x".repeat(100_000) } },
    });
    expect(saved.programs).toEqual(["main.wf.md", "child.wf.md"]);
  });

  it("continues a list after a page whose last run was deleted, and finds nothing for a label with two values", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "main.wf.md", files: callingFiles } });
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) {
      const { id } = await owner.startRun({ body: { definition: hash, labels: { pages: "1", n: String(n) } } });
      await mill.ended(id);
      ids.unshift(id);
    }
    const label = ["pages=1"];
    const first = await owner.listRuns({ query: { label, limit: 2 } });
    expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    await owner.deleteRun({ params: { id: ids[1] ?? "" } });
    const second = await owner.listRuns({ query: { label, limit: 2, cursor: first.next ?? "" } });
    expect(second.items.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(second.next).toBeNull();
    expect((await problem(owner.listRuns({ query: { cursor: "x" } }))).code).toBe("INVALID");
    expect((await owner.listRuns({ query: { label: ["n=0", "n=0"] } })).items).toHaveLength(1);
    expect((await owner.listRuns({ query: { label: ["n=0", "n=2"] } })).items).toEqual([]);
    expect((await owner.getUsage({ query: { by: "run", label: ["n=0", "n=2"] } })).items).toEqual([]);
  });

  it("pages the records of a run: each once, also if the run continues between two pages", async () => {
    const owner = await api.client("owner");
    const files = { "a.wf.md": askingWorkflow };
    const asking = await owner.saveDefinition({ body: { root: "a.wf.md", files } });
    const { id } = await owner.startRun({ body: { definition: asking.hash } });
    const ask = await until(async () => (await owner.listAsks({ query: { run: id } })).items[0]);
    const first = await owner.listActivities({ params: { id }, query: { limit: 1 } });
    expect(first.items).toMatchObject([{ node: "SET_A", state: "done" }]);
    await owner.answerAsk({ params: { id: ask.id }, body: { text: "yes" } });
    const query = { limit: 1, cursor: first.next ?? "" };
    const second = await owner.listActivities({ params: { id }, query });
    expect(second).toMatchObject({ items: [{ node: "ASK_B", state: "done" }], next: null });

    const talk = workflow('  START --> PROMPT_A["PROMPT: First"] --> PROMPT_B["PROMPT: Second"] --> SUCCESS');
    const talking = await owner.saveDefinition({ body: { root: "talk.wf.md", files: { "talk.wf.md": talk } } });
    const said = await owner.startRun({ body: { definition: talking.hash } });
    expect((await mill.ended(said.id)).status).toBe("success");
    for (const read of [owner.listCalls, owner.listMessages, owner.listActivities]) {
      const params = { id: said.id };
      const whole = await read({ params });
      expect(whole.items.length).toBeGreaterThan(1);
      expect(whole.next).toBeNull();
      const single: unknown[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await read({ params, query: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } });
        single.push(...page.items);
        cursor = page.next;
      }
      expect(single).toEqual(whole.items);
      expect((await problem(read({ params, query: { cursor: "x" } }))).code).toBe("INVALID");
    }
  }, 60_000);

  it("accepts files and submissions up to its limits, and returns them", async () => {
    const small = await startApi(mill, { uploadBytes: 100_000 });
    try {
      const owner = createClient({ url: small.url, token: await small.key(["owner"]) });
      const bytes = new Uint8Array(50_000).map((_, index) => index % 251);
      const file = await owner.uploadFile({ body: bytes });
      expect(file.size).toBe(50_000);
      expect(await owner.downloadFile({ params: { hash: file.hash } })).toEqual(bytes);
      const large = await problem(owner.uploadFile({ body: new Uint8Array(200_000) }));
      expect(large).toMatchObject({ code: "TOO_LARGE", status: 413 });
      const submission = await owner.uploadSubmission({
        query: { name: "answer.py" },
        body: new TextEncoder().encode("print(1)\n"),
      });
      expect(submission).toMatchObject({ files: 1, paths: ["answer.py"] });
      const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
      const { id } = await owner.startRun({ body: { definition: hash, submission: submission.hash } });
      expect(Buffer.from(await owner.getSubmission({ params: { id } })).includes("print(1)")).toBe(true);
      expect(
        (await problem(owner.uploadSubmission({ query: { name: "x.zip" }, body: new Uint8Array([1, 2, 3]) }))).code,
      ).toBe("SUBMISSION_REFUSED");
      await owner.cancelRun({ params: { id } });
    } finally {
      await small.close();
    }
  });

  it("answers 304 while nothing has changed", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const headers = { authorization: `Bearer ${await api.key(["reader"])}` };
    const first = await fetch(`${api.url}/v1/definitions/${hash}`, { headers });
    const etag = first.headers.get("etag") ?? "";
    await first.body?.cancel();
    const second = await fetch(`${api.url}/v1/definitions/${hash}`, { headers: { ...headers, "if-none-match": etag } });
    expect([second.status, await second.text()]).toEqual([304, ""]);
  });
});
