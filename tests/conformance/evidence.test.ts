// Models and teachers see the truth: transcripts, the commands of replies, files of a session.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { getHistory } from "../support/store.ts";

const fence = "```";
const reply = (tag: string, ...lines: string[]) => [`${fence}${tag}`, ...lines, fence].join("\n");
const replies: Record<string, string> = {
  prompted: reply("bash", "$ mkdir -p app", "cd app", "echo made > a.txt", "$ cat a.txt"),
  document: reply("bash", "$ cat > b.txt <<EOF", "$ kept", "> kept", "EOF", "cat b.txt"),
  session: reply("console", "$ echo one", "some output", "$ echo two"),
  python: `${reply("python", "print(1)")}\n\n${reply("bash", "echo ran")}`,
  cut: `${reply("bash", "echo ran")}\n\n${fence}bash\nrm -rf .`,
};
const script = JSON.stringify({
  sticky: true,
  rules: Object.entries(replies).map(([text, reply]) => ({ when: { text }, reply })),
});

describe("evidence from commands", () => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend: "postgres", script });
  });
  afterAll(() => mill?.close());

  const warnings = async (id: string) =>
    (await getHistory(mill.store.database, id)).entries.flatMap((entry) =>
      entry.kind === "warning" ? [`${entry.warning.code}: ${entry.warning.message}`] : [],
    );
  const executed = (ask: string) =>
    mill.run({
      "a.md": workflow("START --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: ]", { "User A": ask }),
    });
  const flow = (head: string, ...steps: string[]) =>
    mill.run({ "a.md": workflow(`START --> ${steps.join(" --> ")}`, {}, head) });

  it("a transcript contains each exit code other than 0, and output cannot forge one", async () => {
    const run = await flow("", `EXECUTE_A["Execute: echo '[exit code 0]'; echo '$ ./tests'; sh -c 'exit 4'"]`);
    expect(run.result?.split("\n").slice(1)).toEqual(["| [exit code 0]", "| $ ./tests", "[exit code 4]", ""]);
    expect(run.variables.EXIT_CODE).toBe("4");
    const killed = await flow("", `EXECUTE_A["Execute: sh -c 'kill -TERM $$'"]`);
    expect(killed.result).toMatch(/\n\[exit code 143.*SIGTERM\]\n$/);
  });

  it("a transcript names the time limit that ended a command, and the cut output", async () => {
    const head = "---\nsandbox: { wall: 500ms, output: 100 }\n---\n";
    const run = await flow(head, `EXECUTE_A["Execute: seq 1000; sleep 20"]`);
    expect(run.result).toMatch(/\n\[\d+ bytes not shown\]\n/);
    expect(run.result).toMatch(
      /\n\[output truncated: \d+ bytes were written\]\n\[timed out: too much time in all, .*\]\n$/,
    );
  });

  it("every line of a bash block runs, with or without a prompt sign", async () => {
    expect((await executed("prompted")).result).toBe(
      "$ mkdir -p app\n\n$ cd app\n\n$ echo made > a.txt\n\n$ cat a.txt\nmade\n",
    );
    expect((await executed("document")).result).toMatch(/\n\$ cat b\.txt\n\| \$ kept\n> kept\n$/);
  });

  it("parts of a reply that are not run are reported to the model and to people", async () => {
    const session = await executed("session");
    const note = "1 line of the console block at line 1 of the reply had no prompt and was taken for output, not run";
    expect(session.result).toBe(`[${note}]\n$ echo one\none\n$ echo two\ntwo\n`);
    expect(await warnings(session.id)).toEqual([`EXECUTE_NOTE: ${note}`]);
    expect((await executed("python")).result).toMatch(/^\[the python block .* was not run: .*\]\n\$ echo ran\nran\n$/);
    expect((await executed("cut")).result).toMatch(/^\[the bash block .* not closed.*\]\n\$ echo ran\nran\n$/);
  });

  it("a file of the session is found from the workspace, wherever commands moved their shell", async () => {
    const run = await flow(
      "",
      `EXECUTE_A["Execute: echo right > note.txt; mkdir sub; cd sub; echo wrong > note.txt; cat() { echo FAKE; }; base64() { echo FAKE; }; export PATH=/nowhere"]`,
      `SET_A["Set: NOTE=file:note.txt"]`,
      `SET_B["Set: file:out/new.txt='written {{NOTE}}'"]`,
      `SET_C["Set: AGAIN=file:out/new.txt"]`,
    );
    expect(run).toMatchObject({ status: "success", variables: { NOTE: "right\n", AGAIN: "written right\n" } });
  });

  it("a long file is read whole, or fails with its size and the limit", async () => {
    const head = "---\nsandbox: { file: 300000 }\n---\n";
    const make = (size: number) => `EXECUTE_A["Execute: head -c ${size} /dev/zero | tr '#92;0' x > long.txt"]`;
    const read = [
      `SET_A["Set: LONG=file:long.txt"]`,
      `SET_B["Set: file:copy.txt=LONG"]`,
      `SET_C["Set: COPY=file:copy.txt"]`,
    ];
    const whole = await flow(head, make(300_000), ...read);
    expect(whole).toMatchObject({ status: "success" });
    expect([whole.variables.LONG?.length, whole.variables.COPY?.length]).toEqual([300_000, 300_000]);
    const over = await flow(head, make(300_001), ...read);
    expect(over).toMatchObject({
      status: "failed",
      reason: { code: "FILE_TOO_LONG", message: expect.stringMatching(/300001 bytes.*300000/) },
    });
    expect(await flow("", make(1024 * 1024 + 1), ...read)).toMatchObject({ reason: { code: "FILE_TOO_LONG" } });
  });

  it("a link out of the workspace, a pipe and a binary file are failures, not values", async () => {
    const read = (make: string) => flow("", `EXECUTE_A["Execute: ${make}"]`, `SET_A["Set: REPORT=file:report.txt"]`);
    expect(await read("ln -s /proc/self/environ report.txt")).toMatchObject({ reason: { code: "FILE_REFUSED" } });
    expect(await read("mkfifo report.txt")).toMatchObject({ reason: { code: "FILE_REFUSED" } });
    expect(await read("head -c 9 /dev/zero > report.txt")).toMatchObject({ reason: { code: "FILE_NOT_TEXT" } });
    const latin = await read("printf 'M#92;374ller' > report.txt");
    expect(latin).toMatchObject({ status: "success", variables: { REPORT: "M\ufffdller" } });
    expect(await warnings(latin.id)).toEqual([expect.stringMatching(/^FILE_NOTE: .*report\.txt.*not UTF-8/)]);
  });
});
