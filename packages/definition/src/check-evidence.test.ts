import { describe, expect, it } from "vitest";
import { runsForeignCode } from "./check-evidence.ts";
import { loadDefinition } from "./load-definition.ts";

const chart = (body: string) => `# T\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${body}\n\`\`\`\n`;
const found = (files: Readonly<Record<string, string>>, code: string) =>
  loadDefinition(
    { read: (path) => (files[path] === undefined ? undefined : new TextEncoder().encode(chart(files[path] ?? ""))) },
    "a.md",
  ).findings.filter((finding) => finding.code === code);
const forgeable = (body: string, more: Readonly<Record<string, string>> = {}) =>
  found({ "a.md": body, ...more }, "CHECK_FORGEABLE").length;

describe("a CHECK that relies on output of a student's program", () => {
  it.each([
    `START --> EXECUTE_T["Execute: node checks.mjs"] --> CHECK_P{"RESULT CONTAINS 'PASSED'"}`,
    `START --> EXECUTE_T["Execute: ./grade.sh"] --> CHECK_P{"CONTENT MATCHES '^ok$'"}`,
    `START --> EXECUTE_T["Execute: make test"] --> SET_O["Set: OUT=RESULT"] --> PROMPT_X["Prompt: 'Hm'"] --> CHECK_P{"OUT == ok"}`,
    `START --> EXECUTE_T["Execute: make test"] --> ASSIGN_O["Assign: 'It says {{RESULT}}'"] --> CHECK_P{"RESULT CONTAINS ok"}`,
    `START --> EXECUTE_T["Execute: "] --> CHECK_E{"EXIT_CODE == 0"} --> CHECK_P{"not RESULT CONTAINS error and EXIT_CODE == 0"}`,
    `START --> EXECUTE_T["Execute: pytest"]\n    ON_SUCCESS --> CHECK_P{"RESULT CONTAINS ok"}`,
    `PARAMS["WANT=42"]\n    START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"WANT == RESULT"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"'ok' == RESULT"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"RESULT IN ('ok', 'passed')"}`,
    `PARAMS["WANT=42"]\n    START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"WANT IN ('ok', RESULT)"}`,
    `START --> EXECUTE_T["Execute: ./a > out.txt"] --> EXECUTE_S["Execute: cat out.txt"] --> CHECK_P{"RESULT CONTAINS ok"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> EXECUTE_S["Execute: grep -c ok < out.txt 2>&1"] --> CHECK_P{"RESULT CONTAINS ok"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"file:out.txt CONTAINS ok"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"'ok' == file:out.txt"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> SET_O["Set: OUT=file:out.txt"] --> CHECK_P{"OUT == ok"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> ASSIGN_O["Assign: file:out.txt"] --> CHECK_P{"RESULT == ok"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: 'Right? {{RESULT}}'"] --> CHECK_P{"RESULT == YES"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: RESULT"] --> CHECK_P{"RESULT == YES"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: file:out.txt"] --> CHECK_P{"RESULT == YES"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: 'See {{RESULT}}'"] --> PROMPT_K["Prompt: 'YES or NO?'"] --> CHECK_P{"RESULT == YES"}`,
    `START --> EXECUTE_T["Execute: source marks.sh"] --> EXECUTE_S["Execute: echo $SCORE"] --> CHECK_P{"RESULT >= 5"}`,
    `START --> EXECUTE_T["Execute: "] --> EXECUTE_S["Execute: echo \${SCORE}"] --> CHECK_P{"RESULT >= 5"}`,
  ])("is reported in %s", (body) => expect(forgeable(body)).toBe(1));

  it.each([
    `START --> EXECUTE_T["Execute: node checks.mjs"] --> CHECK_P{"EXIT_CODE == 0"}`,
    `START --> EXECUTE_T["Execute: ls -l | wc -l"] --> CHECK_P{"RESULT CONTAINS 3"}`,
    `START --> EXECUTE_T["Execute: make test"] --> PROMPT_J["Prompt: 'Is this right?'"] --> CHECK_P{"RESULT == YES"}`,
    `START --> EXECUTE_T["Execute: make test"] --> ASSIGN_O["Assign: 'text'"] --> CHECK_P{"RESULT CONTAINS text"}`,
    `START --> CHECK_P{"RESULT IS EMPTY"} --> EXECUTE_T["Execute: make test"]`,
    `START --> EXECUTE_T["Execute: ls -l 2>&1 | wc -l"] --> CHECK_P{"RESULT CONTAINS 3"}`,
    `START --> EXECUTE_T["Execute: make test"] --> EXECUTE_S["Execute: echo done 2>&1"] --> CHECK_P{"RESULT CONTAINS done"}`,
    `START --> EXECUTE_T["Execute: ./a"] --> EXECUTE_S["Execute: echo $HOME"] --> CHECK_P{"RESULT CONTAINS home"}`,
    `START --> EXECUTE_T["Execute: ls > names.txt"] --> CHECK_P{"file:names.txt CONTAINS main"}`,
    `PARAMS["WANT=42"]\n    START --> EXECUTE_T["Execute: ./a"] --> CHECK_P{"WANT == 42"}`,
    `START --> EXECUTE_T["Execute: ./a"]\n    EXECUTE_T --> EXECUTE_J["Execute: cat /judge/key"] --> CHECK_P{"RESULT CONTAINS ok"}\n    EXECUTE_J@{ session: judge }`,
  ])("is not reported in %s", (body) => expect(forgeable(body)).toBe(0));

  it("is found through called workflows, in both directions", () => {
    const callee = { "b.md": `START --> EXECUTE_T["Execute: make test"]` };
    expect(forgeable(`START --> CALL_B[[b.md]] --> CHECK_P{"RESULT CONTAINS ok"}`, callee)).toBe(1);
    const judge = { "b.md": `START --> CHECK_P{"RESULT CONTAINS ok"}` };
    expect(forgeable(`START --> EXECUTE_T["Execute: make test"] --> CALL_B[[b.md]]`, judge)).toBe(1);
  });

  it("is found through a prompt of the document, and if the callee's conversation contains the output", () => {
    const text = `${chart('START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: User J"] --> CHECK_P{"RESULT == YES"}')}\n# Prompts\n\n## User J\n\nRight? {{RESULT}}\n`;
    const { findings } = loadDefinition({ read: () => new TextEncoder().encode(text) }, "a.md");
    expect(findings.map(({ code }) => code)).toEqual(["CHECK_FORGEABLE"]);
    const callee = { "b.md": `START --> EXECUTE_T["Execute: ./a"] --> PROMPT_J["Prompt: 'See {{RESULT}}'"]` };
    const body = `START --> CALL_B[[b.md]] --> PROMPT_K["Prompt: 'YES or NO?'"] --> CHECK_P{"RESULT == YES"}`;
    expect(forgeable(body, callee)).toBe(1);
  });

  it("is found through tools that run commands, show files or call workflows", () => {
    const judged = 'PROMPT_J["Prompt: \'Do the tests pass?\'"] --> CHECK_P{"RESULT == YES"}';
    const count = (tool: string, body: string, more: Readonly<Record<string, string>> = {}) => {
      const files: Readonly<Record<string, string>> = {
        "a.md": `---\ntools: { t: { description: D, ${tool} } }\n---\n${chart(body)}`,
        ...more,
      };
      const read = (path: string) => (files[path] === undefined ? undefined : new TextEncoder().encode(files[path]));
      const { findings } = loadDefinition({ read }, "a.md");
      return findings.map(({ code }) => code).filter((code) => code !== "TOOL_UNSAFE");
    };
    const alone = `START --> ${judged}`;
    const behind = `START --> EXECUTE_T["Execute: ./a"] --> ${judged}`;
    expect(count("command: ./a", alone)).toEqual(["CHECK_FORGEABLE"]);
    expect(count("command: cat out.txt", behind)).toEqual(["CHECK_FORGEABLE"]);
    expect(count("command: cat out.txt", alone)).toEqual([]);
    expect(count("url: http://a.example/", behind)).toEqual([]);
    const callee = { "b.md": chart('START --> EXECUTE_T["Execute: ./a"]') };
    expect(count("workflow: b.md", alone, callee)).toEqual(["CHECK_FORGEABLE"]);
  });

  it("gets a finding that explains how to avoid it", () => {
    const [finding] = found(
      { "a.md": `START --> EXECUTE_T["Execute: make"] --> CHECK_P{"RESULT == ok"}` },
      "CHECK_FORGEABLE",
    );
    expect(finding).toMatchObject({ severity: "warning", fix: expect.stringMatching(/EXIT_CODE.*#judging/) });
  });
});

describe("a command", () => {
  it.each([
    "ls",
    "cat a.txt | grep -c x > n.txt",
    'for f in *; do<br> echo "$f"; done'.replace("<br>", "\n"),
    "X=1 echo a && test -f b",
    "ls 2>&1",
    "ls -l >/dev/null 2>&1; cat a 2>&1 | grep x",
    "ls &> log.txt",
    "ls >&2",
    "> out.txt cat a",
    "# only a comment\nls",
    "cat <<EOF > a.txt\n./a is run later\nEOF",
  ])("%j runs no code of a student", (command) => expect(runsForeignCode(command)).toBe(false));
  it.each([
    "./a",
    "python3 a.py",
    "echo $(./a)",
    'echo "$(./a)"',
    "find . -exec ./a ;",
    "cat x | ./a",
    "timeout 5 ./a",
    "echo `./a`",
    "./a 2>&1",
    "ls 2>&1 && ./a",
    "ls & ./a",
    "> out.txt ./a",
    "cat <<EOF | sh\n./a\nEOF",
    "cat <<EOF\n$(./a)\nEOF",
  ])("%j may run code of a student", (command) => expect(runsForeignCode(command)).toBe(true));
});

describe("values in commands", () => {
  const codes = (body: string) =>
    ["COMMAND_RAW", "COMMAND_PLACE", "COMMAND_WORD"].flatMap((code) => found({ "a.md": body }, code).map(() => code));
  it.each([
    [`START --> PROMPT_A["Prompt: 'x'"] --> EXECUTE_A["Execute: echo {{{RESULT}}}"]`, ["COMMAND_RAW"]],
    [
      `START --> SET_A["Set: X=RESULT"] --> SET_B["Set: Y='a {{X}}'"] --> EXECUTE_A["Execute: echo {{{Y}}}"]`,
      ["COMMAND_RAW"],
    ],
    [`PARAMS["FLAGS"]\n    START --> EXECUTE_A["Execute: gcc {{{FLAGS}}} a.c"]`, []],
    [`START --> EXECUTE_A["Execute: echo {{RESULT}}"]`, []],
    [`START --> EXECUTE_A["Execute: python3 -c 'print({{RESULT}})'"]`, ["COMMAND_PLACE"]],
    [`START --> EXECUTE_A["Execute: echo $(( {{RESULT}} ))"]`, ["COMMAND_PLACE"]],
    [`PARAMS["CMD"]\n    START --> EXECUTE_A["Execute: {{CMD}}"]`, ["COMMAND_WORD"]],
  ])("%s gives the findings %j", (body, expected) => expect(codes(body)).toEqual(expected));
});

describe("{{file:…}}", () => {
  it("is an error in a prompt, a value and a command, with the correct form in the fix", () => {
    const load = (text: string) => loadDefinition({ read: () => new TextEncoder().encode(text) }, "a.md").findings;
    const inPrompt = load(
      `${chart('START --> PROMPT_A["Prompt: User A"]')}\n# Prompts\n\n## User A\n\nRead {{file:in/essay.md}}.\n`,
    );
    expect(inPrompt).toMatchObject([
      {
        severity: "error",
        code: "PLACE_FILE",
        at: { line: 14, column: 6 },
        fix: expect.stringContaining('SET_ESSAY["Set: ESSAY=file:in/essay.md"], and write {{ESSAY}}'),
      },
    ]);
    for (const body of [
      `START --> ASSIGN_A["Assign: 'x {{ file: a.md }}'"]`,
      `START --> EXECUTE_A["Execute: echo {{file:a}}"]`,
    ])
      expect(load(chart(body)).map(({ code }) => code)).toEqual(["PLACE_FILE"]);
  });
});
