// Small workflows for the tests of the command.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const chart = (lines: string) => `# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${lines}\n\`\`\`\n`;

const files: Readonly<Record<string, string>> = {
  "greet.wf.md": `# Greet\n\nOne prompt.\n\n${chart(`    PARAMS["NAME"]
    START --> PROMPT_HI["Prompt: User Hi"]`)}\n# Prompts\n\n## User Hi\n\nGreet {{NAME}}.\n`,

  "two.wf.md": `# Two prompts\n\nOne after the other.\n\n${chart(`    START --> PROMPT_ONE["Prompt: User One"]
    PROMPT_ONE --> PROMPT_TWO["Prompt: User Two"]`)}\n# Prompts\n\n## User One\n\nSay one.\n\n## User Two\n\nSay two.\n`,

  "three.wf.md": `# Three prompts\n\nOne after the other.\n\n${chart(`    START --> PROMPT_ONE["Prompt: User One"]
    PROMPT_ONE --> PROMPT_TWO["Prompt: User Two"]
    PROMPT_TWO --> PROMPT_THREE["Prompt: User Three"]`)}\n# Prompts\n\n## User One\n\nSay one.\n\n## User Two\n\nSay two.\n\n## User Three\n\nSay three.\n`,

  "fail.wf.md": `# Fail\n\nAlways fails.\n\n${chart(`    START --> CHECK_NO{"Check: RESULT CONTAINS 'something'"}
    CHECK_NO --> |TRUE| SUCCESS`)}`,

  "checks.wf.md": `# Checks\n\nOne is false, one is true.\n\n${chart(`    PARAMS["NAME"]
    START --> CHECK_BOB{"Check: NAME EQUALS 'Bob'"}
    CHECK_BOB --> |FALSE| CHECK_ADA{"Check: NAME EQUALS 'Ada'"}
    CHECK_ADA --> |TRUE| SUCCESS`)}`,

  "ask.wf.md": `# Ask\n\nAsks a person.\n\n${chart(`    START --> ASSIGN_Q["Assign: 'Pass or fail?'"]
    ASSIGN_Q --> ASK_TEACHER["Ask: Your verdict"]
    ASK_TEACHER --> CALL_ECHO[["echo.wf.md"]]`)}`,

  "handled.wf.md": `# Handled\n\nAsks a person when it is done.\n\n${chart(`    START --> ASSIGN_A["Assign: 'seven points'"]
    ON_SUCCESS --> ASK_MORE["Ask: Anything to add?"]`)}`,

  "echo.wf.md": `# Echo\n\nSays what it was given.\n\n${chart(`    START --> PROMPT_ECHO["Prompt: User Echo"]`)}\n# Prompts\n\n## User Echo\n\nVerdict: {{RESULT}}\n`,

  "list.wf.md": `# List\n\nLists the submission.\n\n${chart(`    START --> EXECUTE_LS["Execute: ls -1"]`)}`,

  "required.wf.md": `---\nsubmission: required\n---\n# Required\n\nLists the submission.\n\n${chart(`    START --> EXECUTE_LS["Execute: ls -1"]`)}`,

  "essay.wf.md": `# Essay\n\nReads a file of the submission.\n\n${chart(`    START --> ASSIGN_A["Assign: file:a.txt"]`)}`,

  "broken.wf.md": `# Broken\n\n${chart("    START --> PROMPT_A[Prompt: User Missing]")}`,

  "hostile.wf.md": `# Hostile\n\nThe reply is for a terminal.\n\n${chart(`    START --> PROMPT_H["Prompt: User H"]`)}\n# Prompts\n\n## User H\n\nSay escapes.\n`,

  "replies.yaml": `rules:
  - when: { text: "Say escapes" }
    reply: "a\\e[2J\\x9b31m\\u202Eb\\u200B\\u3164c"
  - when: { pattern: 'Greet (?<who>.*)\\.' }
    reply: "Welcome, {{who}}!"
    usage: { prompt: 10, completion: 5 }
  - when: { text: "Say one" }
    reply: one
    delay: 700ms
  - when: { text: "Say two" }
    reply: two
    delay: 700ms
  - when: { text: "Say three" }
    reply: three
  - when: { pattern: 'Verdict: (?<verdict>.*)' }
    reply: "The verdict is {{verdict}}."
`,
  "params.yaml": "NAME: from the file\n",
  "name.txt": "a = b",
  "submission/a.txt": "a\n",
  "submission/sub/b.txt": "b\n",
};

export function writeWorkflows(folder: string): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
