import { describe, expect, it } from "vitest";
import { extractCommands, MAX_BLOCK_BYTES, MAX_REPLY_CHARS, tellSkipped } from "./extract-commands.ts";

const fence = "```";
const block = (tag: string, ...lines: string[]) => [`${fence}${tag}`, ...lines, fence].join("\n");

describe("code blocks that run", () => {
  it("a shell block between prose runs", () => {
    expect(extractCommands(`First do this:\n\n${block("bash", "ls -la")}\n\nthen stop.`).blocks).toEqual([
      { kind: "shell", text: "ls -la", line: 3 },
    ]);
  });

  it.each(["sh", "shell", "bash", "zsh", "console", "shell-session", "terminal", "BASH", "bash title=x"])(
    "a block with the tag %s runs as shell",
    (tag) => {
      expect(extractCommands(block(tag, "true")).blocks).toMatchObject([{ kind: "shell", text: "true" }]);
    },
  );

  it("an untagged block runs when it is the only one", () => {
    expect(extractCommands(block("", "make test")).blocks).toMatchObject([{ kind: "shell", text: "make test" }]);
  });

  it("blocks with tildes, long fences and indentation, and blocks in lists and quotes, run", () => {
    const reply = ["1. step", "", "   ~~~sh", "   echo one", "   ~~~", "", "> ````bash", "> echo two", "> ````"].join(
      "\n",
    );
    expect(extractCommands(reply).blocks.map(({ text }) => text)).toEqual(["echo one", "echo two"]);
  });

  it("python and javascript blocks run only when the workflow allows them", () => {
    const reply = `${block("bash", "ls")}\n\n${block("python", "print(1)")}\n\n${block("js", "console.log(1)")}`;
    expect(extractCommands(reply).blocks.map(({ kind }) => kind)).toEqual(["shell"]);
    expect(extractCommands(reply).skipped.map(({ reason }) => reason)).toEqual(["not opted in", "not opted in"]);
    const opted = extractCommands(reply, { interpreters: ["python", "javascript"] });
    expect(opted.blocks.map(({ kind }) => kind)).toEqual(["shell", "python", "javascript"]);
  });
});

describe("code blocks that do not run", () => {
  it("a reply without fences contains no command, not even as indented code", () => {
    expect(extractCommands("Just run `ls`.\n\n    rm -rf /\n")).toEqual({ blocks: [], skipped: [] });
  });

  it("an unclosed block is skipped because the reply was cut off", () => {
    const { blocks, skipped } = extractCommands(`${fence}bash\nrm -rf ./build\nrm -rf ./`);
    expect(blocks).toEqual([]);
    expect(skipped).toEqual([{ line: 1, tag: "bash", reason: "unclosed" }]);
  });

  it("a shorter or a different fence does not close a block", () => {
    expect(extractCommands("````bash\necho a\n```").skipped).toMatchObject([{ reason: "unclosed" }]);
    expect(extractCommands("~~~bash\necho a\n```").skipped).toMatchObject([{ reason: "unclosed" }]);
  });

  it.each(["json", "powershell", "cmd", "yaml", "diff", "constructor"])(
    "a data block with the tag %s is never executed",
    (tag) => {
      expect(extractCommands(block(tag, "rm -rf x"))).toMatchObject({ blocks: [], skipped: [{ tag, reason: "data" }] });
    },
  );

  it("an untagged block beside another block is skipped", () => {
    const reply = `${block("", "output of something")}\n\n${block("bash", "ls")}`;
    expect(extractCommands(reply).blocks.map(({ text }) => text)).toEqual(["ls"]);
    expect(extractCommands(reply).skipped).toMatchObject([{ reason: "untagged among others" }]);
  });

  it("a block that is too long is skipped", () => {
    expect(extractCommands(block("bash", "#".repeat(MAX_BLOCK_BYTES + 1))).skipped).toMatchObject([
      { reason: "too long" },
    ]);
  });
});

describe("prompts in code blocks", () => {
  it("a leading dollar is removed from each line", () => {
    expect(extractCommands(block("bash", "$ cd a", "$ ls")).blocks).toMatchObject([{ text: "cd a\nls" }]);
  });

  it("the commands of a transcript are kept and its output is dropped", () => {
    const reply = block("console", "$ echo hello \\", "> world", "hello world", "$ ls", "a.txt  b.txt");
    expect(extractCommands(reply).blocks).toMatchObject([{ text: "echo hello \\\nworld\nls" }]);
  });

  it("a dollar stays in a block that does not begin with a prompt", () => {
    const text = "cat <<EOF\n$ 5 is the price\nEOF";
    expect(extractCommands(block("bash", text)).blocks).toMatchObject([{ text }]);
  });
});

const commandsOf = (tag: string, ...lines: string[]) => extractCommands(block(tag, ...lines)).blocks[0]?.text;

describe("the lines of a shell block", () => {
  it.each(["bash", "sh", "shell", "zsh", ""])(
    "prompts on some lines of a %j block do not turn its other lines into output",
    (tag) => {
      expect(commandsOf(tag, "$ cd app", "make test", "$ ls", "cat out.txt")).toBe(
        "cd app\nmake test\nls\ncat out.txt",
      );
      expect(extractCommands(block(tag, "$ cd app", "make test")).skipped).toEqual([]);
    },
  );

  it("a prompt after lines without a prompt is removed", () => {
    expect(commandsOf("bash", "ls", "$ pwd")).toBe("ls\npwd");
  });

  it("a redirection alone on its line is kept", () => {
    expect(commandsOf("bash", "$ ls", "> out.txt")).toBe("ls\n> out.txt");
  });

  it("lines after bash's second prompt continue the command", () => {
    expect(commandsOf("bash", "$ for x in 1 2; do", ">   echo $x", "> done", "$ ls")).toBe(
      "for x in 1 2; do\n  echo $x\ndone\nls",
    );
  });
});

describe("here-documents in code blocks", () => {
  const body = ["$ not a prompt", "> not a prompt either", "", "plain", "\t# text"];

  it.each([
    ["<<EOF", "EOF"],
    ["<<'EOF'", "EOF"],
    ['<<"THE END"', "THE END"],
    ["<<-EOF", "\tEOF"],
    ["<< \\EOF", "EOF"],
  ])("the body of %s stays whole, in every kind of block", (operator, end) => {
    const script = [`cat > a.txt ${operator}`, ...body, end].join("\n");
    for (const tag of ["bash", "sh", "", "console", "terminal"]) {
      expect(commandsOf(tag, ...script.split("\n"), "ls"), tag).toBe(`${script}\nls`);
      expect(commandsOf(tag, ...`$ ${script}`.split("\n"), "$ ls"), tag).toBe(`${script}\nls`);
    }
  });

  it("the second prompt is removed when every line of the body has it", () => {
    const lines = ["$ cat <<EOF", "> one", ">   two", "> > three", "> EOF", "$ ls"];
    for (const tag of ["bash", "console"])
      expect(commandsOf(tag, ...lines)).toBe("cat <<EOF\none\n  two\n> three\nEOF\nls");
  });

  it("several here-documents of one line are kept, and <<< starts none", () => {
    const script = ["paste /dev/fd/3 3<<A - <<B", "$ a", "B", "A", "$ b", "B"];
    expect(commandsOf("bash", `$ ${script[0]}`, ...script.slice(1), "$ wc <<<B", "$ ls")).toBe(
      [...script, "wc <<<B", "ls"].join("\n"),
    );
  });

  it("a here-document inside a substitution is kept", () => {
    const script = ['git commit -m "$(cat <<EOF', "$ money", "EOF", ')"'];
    expect(commandsOf("console", `$ ${script[0]}`, ...script.slice(1), "output", "$ ls")).toBe(
      [...script, "ls"].join("\n"),
    );
  });
});

describe("output in a session block", () => {
  it("is skipped and reported with its number of lines", () => {
    const reply = block("console", "Last login: today", "$ cat a.md", "> quoted", "text", "", "$ ls", "a.md");
    const { blocks, skipped } = extractCommands(reply);
    expect(blocks).toMatchObject([{ text: "cat a.md\n\nls" }]);
    expect(skipped).toEqual([{ line: 1, tag: "console", reason: "output", lines: 4 }]);
    expect(skipped.map(tellSkipped)).toEqual([
      "4 lines of the console block at line 1 of the reply had no prompt and were taken for output, not run",
    ]);
  });

  it("is recognised after a prompt with name and host", () => {
    expect(commandsOf("console", "ada@box:~/work$ make", "cc -o a a.c", "[ada@box work]$ ls")).toBe("make\nls");
  });
});

describe("a long reply", () => {
  it("is reported as longer than the searched part", () => {
    const { blocks, skipped } = extractCommands(`${"x\n".repeat(MAX_REPLY_CHARS / 2)}${block("bash", "ls")}`);
    expect(blocks).toEqual([]);
    expect(skipped).toMatchObject([{ reason: "beyond the cap" }]);
  });
});
