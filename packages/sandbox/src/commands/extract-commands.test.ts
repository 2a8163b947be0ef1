import { describe, expect, it } from "vitest";
import { extractCommands, MAX_BLOCK_BYTES } from "./extract-commands.ts";

const fence = "```";
const block = (tag: string, ...lines: string[]) => [`${fence}${tag}`, ...lines, fence].join("\n");

describe("blocks that run", () => {
  it("finds a shell block amid prose", () => {
    expect(extractCommands(`First do this:\n\n${block("bash", "ls -la")}\n\nthen stop.`).blocks).toEqual([
      { kind: "shell", text: "ls -la", line: 3 },
    ]);
  });

  it.each(["sh", "shell", "bash", "zsh", "console", "shell-session", "terminal", "BASH", "bash title=x"])(
    "takes the tag %s for a shell",
    (tag) => {
      expect(extractCommands(block(tag, "true")).blocks).toMatchObject([{ kind: "shell", text: "true" }]);
    },
  );

  it("takes an untagged block when it is the only one", () => {
    expect(extractCommands(block("", "make test")).blocks).toMatchObject([{ kind: "shell", text: "make test" }]);
  });

  it("accepts tildes, long fences, indentation, and blocks in lists and quotes", () => {
    const reply = ["1. step", "", "   ~~~sh", "   echo one", "   ~~~", "", "> ````bash", "> echo two", "> ````"].join(
      "\n",
    );
    expect(extractCommands(reply).blocks.map(({ text }) => text)).toEqual(["echo one", "echo two"]);
  });

  it("runs python and javascript only when the workflow opts in", () => {
    const reply = `${block("bash", "ls")}\n\n${block("python", "print(1)")}\n\n${block("js", "console.log(1)")}`;
    expect(extractCommands(reply).blocks.map(({ kind }) => kind)).toEqual(["shell"]);
    expect(extractCommands(reply).skipped.map(({ reason }) => reason)).toEqual(["not opted in", "not opted in"]);
    const opted = extractCommands(reply, { interpreters: ["python", "javascript"] });
    expect(opted.blocks.map(({ kind }) => kind)).toEqual(["shell", "python", "javascript"]);
  });
});

describe("blocks that do not run", () => {
  it("finds nothing in a reply without fences, indented code included", () => {
    expect(extractCommands("Just run `ls`.\n\n    rm -rf /\n")).toEqual({ blocks: [], skipped: [] });
  });

  it("leaves an unclosed block alone: the reply was cut off", () => {
    const { blocks, skipped } = extractCommands(`${fence}bash\nrm -rf ./build\nrm -rf ./`);
    expect(blocks).toEqual([]);
    expect(skipped).toEqual([{ line: 1, tag: "bash", reason: "unclosed" }]);
  });

  it("is not closed by a shorter or a different fence", () => {
    expect(extractCommands("````bash\necho a\n```").skipped).toMatchObject([{ reason: "unclosed" }]);
    expect(extractCommands("~~~bash\necho a\n```").skipped).toMatchObject([{ reason: "unclosed" }]);
  });

  it.each(["json", "powershell", "cmd", "yaml", "diff", "constructor"])("never executes data of the tag %s", (tag) => {
    expect(extractCommands(block(tag, "rm -rf x"))).toMatchObject({ blocks: [], skipped: [{ tag, reason: "data" }] });
  });

  it("does not run an untagged block beside another block", () => {
    const reply = `${block("", "output of something")}\n\n${block("bash", "ls")}`;
    expect(extractCommands(reply).blocks.map(({ text }) => text)).toEqual(["ls"]);
    expect(extractCommands(reply).skipped).toMatchObject([{ reason: "untagged among others" }]);
  });

  it("refuses a block beyond the cap", () => {
    expect(extractCommands(block("bash", "#".repeat(MAX_BLOCK_BYTES + 1))).skipped).toMatchObject([
      { reason: "too long" },
    ]);
  });
});

describe("prompts", () => {
  it("removes a leading dollar from each line", () => {
    expect(extractCommands(block("bash", "$ cd a", "$ ls")).blocks).toMatchObject([{ text: "cd a\nls" }]);
  });

  it("keeps commands and drops output of a transcript", () => {
    const reply = block("console", "$ echo hello \\", "> world", "hello world", "$ ls", "a.txt  b.txt");
    expect(extractCommands(reply).blocks).toMatchObject([{ text: "echo hello \\\nworld\nls" }]);
  });

  it("leaves a dollar alone in a block that does not begin with a prompt", () => {
    const text = "cat <<EOF\n$ 5 is the price\nEOF";
    expect(extractCommands(block("bash", text)).blocks).toMatchObject([{ text }]);
  });
});
