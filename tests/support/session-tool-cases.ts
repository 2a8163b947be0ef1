// Tools that act in the sandbox session of their run, from a workflow file over the scripted model and the worker: commands, and a real MCP
// server (the official library) that is a program in the session. The same for every sandbox.
import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Sandbox, SandboxError, type Session } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { submissionWithServer } from "./bundle-stdio-server.ts";
import { definitionOf, type Mill, startMill, workflow } from "./mill.ts";
import { cancelRun, createRun, defaultTenant, forkRun, replayRun, saveBlob } from "./store.ts";
import { until } from "./until.ts";

const call = (name: string, values: object = {}) => ({ name, arguments: values });
/** A sleep that is this process's own. */
const left = String(900 + process.pid / 10_000_000);
/** By a word in the prompt: what the model asks for. */
const asked = {
  counting: [call("count", { file: "two words; touch pwned $(touch pwned) `id`" })],
  failing: [call("fail", { code: 7 })],
  unfit: [call("fail", { code: "x; rm -rf ." })],
  calculating: [call("double", { n: "a[$(touch pwned)]" })],
  ordering: [call("step", { n: 1 }), call("step", { n: 2 }), call("step", { n: 3 })],
  pausing: [call("step", { n: 1 }), call("pause")],
  halting: [call("step", { n: 99 })],
  sleeping: [call("sleep")],
  shouting: [call("shout")],
  foreign: [call("shell", { command: "cat() { echo forged; }; export -f cat\ncd /; echo moved; false" }), call("show")],
  forbidden: [call("shell", { command: "curl http://x\necho went on" })],
  empty: [call("shell", { command: "  " })],
  lasting: [call("briefly", { command: "sleep 600\necho never" })],
  lengthy: [call("shell", { command: `${"yes | head -c 200000\n".repeat(3)}touch ran` }), call("show")],
  ...Object.fromEntries(
    [
      "echo",
      "add",
      "where",
      "hang",
      "flood",
      "shout",
      "garbage",
      "die",
      "answerAndDie",
      "leave",
      "stalled",
      "hidden",
    ].map((tool) => [`mcp-${tool}.`, [call(`s__${tool}`, { line: tool === "leave" ? left : "one" })]]),
  ),
  "mcp-twice": [call("s__add", { line: "a" }), call("count", { file: "added" }), call("s__add", { line: "b" })],
};
const script = JSON.stringify({
  rules: [
    ...Object.entries(asked).map(([word, calls]) => ({ name: word, when: { role: "user", text: word }, calls })),
    { name: "halts", when: { role: "tool", text: "echo 99" }, fault: "hang" },
    { name: "answers", when: { role: "tool" }, reply: "Done." },
  ],
  default: { reply: "No tool needed." },
});

const tools = `
tools:
  count: { description: Counts words., command: "cat {{file}} 2>&1 | wc -w; ls", schema: { type: object, properties: { file: { type: string } }, required: [file] } }
  fail: { description: Ends so., command: "echo said; (exit {{code}})", schema: { type: object, properties: { code: { type: integer } } } }
  double: { description: Doubles., command: "echo $(( {{n}} * 2 ))", schema: { type: object, properties: { n: { type: string } } } }
  step: { description: A step., command: "echo {{n}} >> steps; X=$X{{n}}; export X; echo $X; cat steps", schema: { type: object, properties: { n: { type: integer } } } }
  sleep: { description: Sleeps., command: "echo begun; sleep 600", timeout: 300ms }
  pause: { description: Waits., command: "echo paused >> steps; until test -e go-on; do sleep 0.05; done" }
  shout: { description: Much., command: "yes | head -c 3000000" }
  show: { description: Shows., command: "cat given.txt; type -t cat; ls" }
  shell: { description: Any command., command: null }
  briefly: { description: Any short command., command: null, timeout: 300ms }
sandbox: { deny: curl }
`;
const server = (allowed: string, more = "") =>
  `mcp: { s: { command: [node, server.mjs${more}], env: { GREETING: hello }, tools: [${allowed}] } }\n`;

/** Processes of whatever session, as the host sees them. */
function running(words: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(words);
    } catch {
      return false;
    }
  }).length;
}

type Act = "processes" | "start" | "endAllBut" | "run";

/** The same sandbox; `watch` goes around these acts in its sessions. */
function watched(sandbox: Sandbox, watch: (name: Act, act: () => Promise<unknown>) => Promise<unknown>): Sandbox {
  const acts: readonly (string | symbol)[] = ["processes", "start", "endAllBut", "run"] satisfies Act[];
  const around = <Target extends object>(
    target: Target,
    call: (name: string | symbol, act: () => unknown) => unknown,
  ): Target =>
    new Proxy(target, {
      get(_, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => call(name, () => value.apply(target, args));
      },
    });
  const session = (one: Session) =>
    around(one, (name, act) => (acts.includes(name) ? watch(name as Act, async () => await act()) : act()));
  return around(sandbox, (name, act) => (name === "open" ? (act() as Promise<Session>).then(session) : act()));
}

/** sandbox: all that depends on it; without, some of that. worker: what does not depend on it, to be looked at once. */
export function sessionToolCases(
  sandbox: (directory: string) => Sandbox | Promise<Sandbox>,
  cases: readonly ("sandbox" | "worker")[],
): void {
  const onEach = it.runIf(cases.includes("sandbox"));
  const once = it.runIf(cases.includes("worker"));
  let mill: Mill;
  let blob = "";
  let directory = "";
  const asIs = (_: Act, act: () => Promise<unknown>) => act();
  let watch = asIs;
  beforeAll(async () => {
    const open = async (root: string) => {
      directory = root;
      return watched(await sandbox(root), (name, act) => watch(name, act));
    };
    mill = await startMill({ backend: "postgres", script, sandbox: open, environment: { TOOL_TIMEOUT_MS: "60000" } });
    blob = (await saveBlob(mill.store, await submissionWithServer({ "given.txt": "the task\n" }))) as string;
  });
  afterAll(async () => {
    await mill?.close();
  });

  async function run(text: string, matter = tools, after = "") {
    const chart = `START --> PROMPT_A["Prompt: User A"] --> ${after}SUCCESS\n PROMPT_A -->|FALSE| FAILED`;
    const definition = definitionOf({ "a.wf.md": `---${matter}---\n${workflow(chart, { "User A": text })}` });
    const before = mill.requests().length;
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    const ended = await mill.ended(created.runId);
    expect((await replayRun(mill.store.database, mill.store.definitions, ended.id)).differences).toEqual([]);
    const rows = await mill.store.as(defaultTenant).runs.toolCalls(ended.id);
    const calls = rows.filter(({ callIndex }) => callIndex >= 0);
    return { ...ended, rows, calls, said: calls[0]?.result ?? null, requests: mill.requests().slice(before) };
  }

  describe("a command of the author", () => {
    it("gets a model's argument as data, and its transcript is the result", async () => {
      const { status, said } = await run("counting");
      expect(status).toBe("success");
      expect(said).toMatch(/^\$ cat 'two words; touch pwned \$\(touch pwned\) `id`' 2>&1 \| wc -w; ls\n\d+\n/);
      expect(said).not.toMatch(/^pwned$/m);
    });

    once("that ends with another code than 0 is a result, not a failure", async () => {
      const { said, calls } = await run("failing");
      expect(calls[0]).toMatchObject({ state: "done" });
      expect(said).toBe("$ echo said; (exit 7)\nsaid\n[exit code 7]\n");
    });

    once.each(["unfit", "calculating"])("%s: arguments that do not fit run nothing", async (text) => {
      const { status, calls } = await run(text);
      expect(status).toBe("success");
      expect(calls[0]).toMatchObject({ state: "failed", failure: { code: "TOOL_ARGUMENTS" } });
      expect(calls[0]?.failure?.message).not.toMatch(/touch/);
    });

    it("comes after the others of its reply, in order, in one session", async () => {
      const { calls } = await run("ordering");
      expect(calls.map(({ result }) => result?.split("\n").slice(1).join(" "))).toEqual([
        "1 1 ",
        "12 1 2 ",
        "123 1 2 3 ",
      ]);
    });

    onEach("has a time and a length", async () => {
      const { said: slept } = await run("sleeping");
      expect(slept).toMatch(/begun\n\[timed out: too much time in all, killed after .*\]/);
      const { said: shouted } = await run("shouting");
      expect(shouted?.length).toBeLessThan(70_000);
      expect(shouted).toMatch(/output truncated: 3000000 bytes/);
    });
  });

  describe("a command of the model", () => {
    onEach("is foreign: what it leaves does not steer the author's", async () => {
      const { calls } = await run("foreign");
      expect(calls[0]?.result).toContain("moved");
      expect(calls[0]?.result).toContain("[exit code 1]");
      // The directory passes, the function does not.
      expect(calls[1]?.result).not.toContain("forged");
      expect(calls[1]?.result).toMatch(/\nfile\n/);
    });

    once("is held to the workflow's list of commands; an empty one is refused", async () => {
      const { said } = await run("forbidden");
      expect(said).toMatch(/^\$ curl http:\/\/x\n\[refused/);
      expect(said).toContain("went on");
      const { calls } = await run("empty");
      expect(calls[0]).toMatchObject({ failure: { code: "TOOL_ARGUMENTS" } });
    });
  });

  describe.runIf(cases.includes("worker"))("several commands of the model", () => {
    it("have one time: what comes after it is not run", async () => {
      const { said } = await run("lasting");
      expect(said).toMatch(/\[timed out: \d more commands were not run\]\n$/);
      expect(said).not.toContain("never");
    });

    it("have one length: what is beyond it is run, and not shown", async () => {
      const { said, calls } = await run("lengthy");
      expect(said).toMatch(/\n\[output truncated: what 3 more commands came to is not shown\]\n$/);
      expect(said?.length).toBeLessThan(66_000);
      expect(calls[1]?.result).toMatch(/^ran$/m);
    });
  });

  describe("an MCP server that is a program", () => {
    async function toldOf(tool: string, allowed: string, code: string, message: RegExp): Promise<void> {
      const { status, calls } = await run(`mcp-${tool}.`, `\n${server(allowed)}`);
      expect(status).toBe("success");
      expect(calls[0]?.failure).toMatchObject({ code, message: expect.stringMatching(message) });
    }

    it("runs in the session: it is listed once, offered with its words, and its files are the run's", async () => {
      const after = 'EXECUTE_E["Execute: cat added"] --> ';
      const { rows, requests, result } = await run("mcp-twice", `${tools}${server("add")}`, after);
      expect(rows.map(({ name, state }) => [name, state])).toEqual([
        ["s: tools/list", "done"],
        ["s__add", "done"],
        ["count", "done"],
        ["s__add", "done"],
      ]);
      expect(rows[2]?.result).toMatch(/wc -w; ls\n1\n/);
      expect(result).toBe("$ cat added\na\nb\n");
      expect(JSON.stringify(requests[0])).toContain("It does add.");
      expect(JSON.stringify(requests[0])).not.toContain("It does echo.");
    });

    it("has an environment of its own, and nothing of the worker's", async () => {
      const { said } = await run("mcp-where.", `\n${server("where")}`);
      expect(said).toMatch(/ hello /);
      expect(said).toContain("PATH");
      expect(said).not.toMatch(/DATABASE|TEST|VITEST|npm_/);
    });

    onEach(
      "may end right after its answer, leave processes, or not go: the answer counts, and nothing is left",
      async () => {
        for (const tool of ["answerAndDie", "leave", "stalled"]) {
          const { calls } = await run(`mcp-${tool}.`, `\n${server(tool)}`, 'EXECUTE_E["Execute: ls"] --> ');
          expect(calls[0], tool).toMatchObject({ state: "done" });
          expect(running(`sleep\0${left}`)).toBe(0);
        }
      },
    );

    onEach.each([
      ["hang", "{ name: hang, timeout: 3s }", "TOOL_TIMEOUT", /within 3000 ms/],
      ["flood", "flood", "TOOL_TOO_LARGE", /more than 4 MiB/],
    ])("%s: it is ended, the model is told, and the run goes on", toldOf);

    once.each(["processes", "start"] as const)("whose start outlasts its call (%s) is not left", async (slow) => {
      const timeoutMs = 400;
      const done: string[] = [];
      watch = async (name, act) => {
        // The listing comes first. Both clocks are this process's, and the call's began before.
        const late = name === slow && done.includes("endAllBut");
        if (late) await pause(timeoutMs);
        const result = await act();
        done.push(name);
        return result;
      };
      try {
        const after = 'EXECUTE_E["Execute: true"] --> ';
        const matter = `\n${server(`{ name: stalled, timeout: ${timeoutMs}ms }`)}`;
        const { status, calls } = await run("mcp-stalled.", matter, after);
        expect(status).toBe("success");
        expect(calls[0]?.failure).toMatchObject({ code: "TOOL_TIMEOUT" });
      } finally {
        watch = asIs;
      }
      const last = (name: Act) => done.lastIndexOf(name);
      expect(last("endAllBut")).toBeGreaterThan(last("start"));
      expect(last("run")).toBeGreaterThan(last("endAllBut"));
      if (slow === "processes") expect(done.filter((name) => name === "start")).toHaveLength(1);
    });

    once("starts where what runs cannot be told", async () => {
      watch = async (name, act) => {
        if (name === "processes") throw new SandboxError("SANDBOX_CHECKPOINT_TOO_SLOW", "Too slow.", "Leave less.");
        return await act();
      };
      try {
        expect(await run("mcp-echo.", `\n${server("echo")}`)).toMatchObject({
          status: "success",
          said: expect.any(String),
        });
      } finally {
        watch = asIs;
      }
    });

    once.each([
      ["shout", "shout", "TOOL_TOO_LARGE", /more than 4 MiB/],
      ["garbage", "garbage", "TOOL_FAILED", /not a message: "Listening on port 3000!"/],
      ["die", "die", "TOOL_FAILED", /exit code 3 before it answered: it was all too much/],
      ["hidden", "echo", "TOOL_UNKNOWN", /no tool/],
    ])("%s: the model is told, and the run goes on", toldOf);

    once("that cannot be started, or has no such tool, fails the PROMPT before a model is paid", async () => {
      const missing = await run("mcp-echo.", "\nmcp: { s: { command: no-such-program, tools: [echo] } }\n");
      expect(missing).toMatchObject({ status: "failed", requests: [] });
      expect(missing.rows.at(-1)?.failure).toMatchObject({
        code: "TOOL_NOT_CONFIGURED",
        message: expect.stringMatching(/could not be started \(127\)/),
      });
      const unknown = await run("mcp-echo.", `\n${server("nothing")}`);
      expect(unknown).toMatchObject({ status: "failed", requests: [] });
      expect(unknown.rows.at(-1)?.failure).toMatchObject({ code: "TOOL_NOT_CONFIGURED" });
    });
  });

  describe.runIf(cases.includes("worker"))("a fork", () => {
    async function started(text: string, chart: string): Promise<string> {
      const prompts = { "User A": text, "User Q": "nothing" };
      const definition = definitionOf({ "a.wf.md": `---${tools}---\n${workflow(chart, prompts)}` });
      const created = await createRun(mill.store, { definition, submission: { blob } });
      await mill.queues.enqueue(created.jobs);
      return created.runId;
    }
    async function forked(runId: string, node: string | null = null) {
      const from = node === null ? null : [node];
      const { runId: again, jobs } = await forkRun(mill.store, defaultTenant, { of: runId, from });
      await mill.queues.enqueue(jobs);
      return again;
    }

    it("goes on with the files that tools left, and not from before some of them", async () => {
      const failing = 'EXECUTE_E["Execute: echo try >> steps; cat steps"]';
      const asking = 'EXECUTE_0["Execute: echo 0 >> steps"] --> PROMPT_A["Prompt: User A"]';
      const runId = await started("ordering", `START --> ${asking} --> ${failing} --> FAILED`);
      expect(await mill.ended(runId)).toMatchObject({ status: "failed" });
      const again = await mill.ended(await forked(runId));
      expect(again.result).toContain("cat steps\n0\n1\n2\n3\ntry\n");
      expect(await mill.store.as(defaultTenant).runs.toolCalls(again.id)).toEqual([]);
      const before = forkRun(mill.store, defaultTenant, { of: runId, from: ["PROMPT_A"] });
      await expect(before).rejects.toThrow(/no longer stored/);
    });

    it("of a fork goes on with the files that tools left in the first run, and not from before them", async () => {
      const asking =
        'EXECUTE_0["Execute: echo 0 >> steps"] --> PROMPT_A["Prompt: User A"] --> PROMPT_Q["Prompt: User Q"]';
      const failing = 'EXECUTE_E["Execute: echo try >> steps; cat steps"]';
      for (const end of [`${failing} --> FAILED`, "FAILED"]) {
        const runId = await started("ordering", `START --> ${asking} --> ${end}`);
        expect(await mill.ended(runId)).toMatchObject({ status: "failed" });
        const first = await mill.ended(await forked(runId));
        const second = await mill.ended(await forked(first.id, "PROMPT_Q"));
        for (const { id, result } of [first, second]) {
          if (end !== "FAILED") expect(result).toContain("cat steps\n0\n1\n2\n3\ntry\n");
          await expect(forked(id, "PROMPT_A")).rejects.toThrow(/no longer stored/);
        }
      }
    });

    it("of a fork in the middle of a PROMPT does not do that PROMPT's calls on their own results", async () => {
      const runId = await started("halting", 'START --> PROMPT_A["Prompt: User A"]');
      await until(async () => {
        const [step] = await mill.store.as(defaultTenant).runs.toolCalls(runId);
        return step?.state === "done";
      });
      await cancelRun(mill.store, runId, "enough");
      for (const begins of [false, true]) {
        const before = mill.requests().length;
        const again = await forkRun(mill.store, defaultTenant, { of: runId, from: null });
        if (begins) {
          await mill.queues.enqueue(again.jobs);
          await until(() => mill.requests().length > before);
        }
        await cancelRun(mill.store, again.runId, "enough");
        await expect(forked(again.runId, "PROMPT_A")).rejects.toThrow(/no longer stored/);
      }
    });

    it("of a run that was cancelled in the middle of a call has what came before it once, and makes the call again", async () => {
      const runId = await started(
        "pausing",
        'START --> PROMPT_A["Prompt: User A"] --> EXECUTE_E["Execute: cat steps"]',
      );
      const stepsOf = async (id: string) => {
        return await readFile(join(directory, id, "workspace", "steps"), "utf8").catch(() => "");
      };
      await until(async () => (await stepsOf(runId)).includes("paused"));
      await cancelRun(mill.store, runId, "enough");
      const again = await forked(runId);
      await until(async () => (await stepsOf(again)).includes("paused"));
      await writeFile(join(directory, again, "workspace", "go-on"), "");
      expect(await mill.ended(again)).toMatchObject({ status: "success", result: "$ cat steps\n1\npaused\n" });
    });
  });
}
