import { describe, expect, it } from "vitest";
import { extractCommands, MAX_BLOCK_BYTES, MAX_REPLY_CHARS, tellSkipped } from "./extract-commands.ts";

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

const commandsOf = (tag: string, ...lines: string[]) => extractCommands(block(tag, ...lines)).blocks[0]?.text;

describe("every line of a shell block is a command", () => {
  it.each(["bash", "sh", "shell", "zsh", ""])(
    "a prompt on some lines of a %j block makes no other line output",
    (tag) => {
      expect(commandsOf(tag, "$ cd app", "make test", "$ ls", "cat out.txt")).toBe(
        "cd app\nmake test\nls\ncat out.txt",
      );
      expect(extractCommands(block(tag, "$ cd app", "make test")).skipped).toEqual([]);
    },
  );

  it("takes away a prompt that comes after unprompted lines", () => {
    expect(commandsOf("bash", "ls", "$ pwd")).toBe("ls\npwd");
  });

  it("keeps a redirection that stands alone", () => {
    expect(commandsOf("bash", "$ ls", "> out.txt")).toBe("ls\n> out.txt");
  });

  it("reads what bash's second prompt goes on with", () => {
    expect(commandsOf("bash", "$ for x in 1 2; do", ">   echo $x", "> done", "$ ls")).toBe(
      "for x in 1 2; do\n  echo $x\ndone\nls",
    );
  });
});

describe("here-documents", () => {
  const body = ["$ not a prompt", "> not a prompt either", "", "plain", "\t# text"];

  it.each([
    ["<<EOF", "EOF"],
    ["<<'EOF'", "EOF"],
    ['<<"THE END"', "THE END"],
    ["<<-EOF", "\tEOF"],
    ["<< \\EOF", "EOF"],
  ])("keeps the body of %s whole, in every kind of block", (operator, end) => {
    const script = [`cat > a.txt ${operator}`, ...body, end].join("\n");
    for (const tag of ["bash", "sh", "", "console", "terminal"]) {
      expect(commandsOf(tag, ...script.split("\n"), "ls"), tag).toBe(`${script}\nls`);
      expect(commandsOf(tag, ...`$ ${script}`.split("\n"), "$ ls"), tag).toBe(`${script}\nls`);
    }
  });

  it("takes away the second prompt when the whole body was written with it", () => {
    const lines = ["$ cat <<EOF", "> one", ">   two", "> > three", "> EOF", "$ ls"];
    for (const tag of ["bash", "console"])
      expect(commandsOf(tag, ...lines)).toBe("cat <<EOF\none\n  two\n> three\nEOF\nls");
  });

  it("keeps several of one line, and takes <<< for none", () => {
    const script = ["paste /dev/fd/3 3<<A - <<B", "$ a", "B", "A", "$ b", "B"];
    expect(commandsOf("bash", `$ ${script[0]}`, ...script.slice(1), "$ wc <<<B", "$ ls")).toBe(
      [...script, "wc <<<B", "ls"].join("\n"),
    );
  });

  it("keeps one inside a substitution", () => {
    const script = ['git commit -m "$(cat <<EOF', "$ money", "EOF", ')"'];
    expect(commandsOf("console", `$ ${script[0]}`, ...script.slice(1), "output", "$ ls")).toBe(
      [...script, "ls"].join("\n"),
    );
  });
});

describe("what a session block leaves out", () => {
  it("is told with its number of lines", () => {
    const reply = block("console", "Last login: today", "$ cat a.md", "> quoted", "text", "", "$ ls", "a.md");
    const { blocks, skipped } = extractCommands(reply);
    expect(blocks).toMatchObject([{ text: "cat a.md\n\nls" }]);
    expect(skipped).toEqual([{ line: 1, tag: "console", reason: "output", lines: 4 }]);
    expect(skipped.map(tellSkipped)).toEqual([
      "4 lines of the console block at line 1 of the reply had no prompt and were taken for output, not run",
    ]);
  });

  it("knows a prompt with name and host", () => {
    expect(commandsOf("console", "ada@box:~/work$ make", "cc -o a a.c", "[ada@box work]$ ls")).toBe("make\nls");
  });
});

describe("long replies", () => {
  it("says that a reply is longer than what is searched", () => {
    const { blocks, skipped } = extractCommands(`${"x\n".repeat(MAX_REPLY_CHARS / 2)}${block("bash", "ls")}`);
    expect(blocks).toEqual([]);
    expect(skipped).toMatchObject([{ reason: "beyond the cap" }]);
  });
});
