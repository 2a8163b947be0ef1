import { describe, expect, it } from "vitest";
import { MAX_COMMANDS, MAX_SPLIT_LINES, parseOnHost, splitCommands } from "./split-commands.ts";

const split = (...lines: string[]) => splitCommands(lines.join("\n"), parseOnHost());
const unused = () => Promise.reject(new Error("the parser must not be asked"));

describe("splitting a block into commands", () => {
  it("makes one command of each plain line, without calling the parser", async () => {
    expect(await splitCommands("ls -la\ncd src && make test > out.txt\necho $HOME", unused)).toEqual([
      "ls -la",
      "cd src && make test > out.txt",
      "echo $HOME",
    ]);
  });

  it("keeps a loop, an if and a case whole, with or without indentation", async () => {
    expect(await split("for x in 1 2 3; do", '  echo "$x"', "done", "if true", "then", "echo yes", "fi", "ls")).toEqual(
      ['for x in 1 2 3; do\n  echo "$x"\ndone', "if true\nthen\necho yes\nfi", "ls"],
    );
  });

  it("keeps a nested loop with if and else whole from for to done", async () => {
    const loop = [
      "for f in *; do",
      "  if [ -f $f ]; then",
      "    echo file",
      "  else",
      "    echo other",
      "  fi",
      "done",
    ];
    expect(await split(...loop)).toEqual([loop.join("\n")]);
  });

  it("keeps a function whole and separates its call", async () => {
    expect(await split("greet() {", '  echo "hi $1"', "}", "greet you")).toEqual([
      'greet() {\n  echo "hi $1"\n}',
      "greet you",
    ]);
  });

  it("keeps a here-document whole, even if its text looks like commands", async () => {
    expect(await split("cat > run.sh <<'EOF'", "for x in; do", "$(", "EOF", "sh run.sh")).toEqual([
      "cat > run.sh <<'EOF'\nfor x in; do\n$(\nEOF",
      "sh run.sh",
    ]);
  });

  it("joins lines that continue: backslash, pipe, open quote", async () => {
    expect(await split("echo a \\", "  b", "cat x |", "  sort", 'echo "one', 'two"')).toEqual([
      "echo a \\\n  b",
      "cat x |\n  sort",
      'echo "one\ntwo"',
    ]);
  });

  it("returns an incomplete command as one last command, so that bash reports its error", async () => {
    expect(await split("ls", "if true; then", "echo x")).toEqual(["ls", "if true; then\necho x"]);
  });

  it("executes nothing while it parses", async () => {
    const canary = `/tmp/split-canary-${process.pid}`;
    await split(
      `touch ${canary}; "$(touch ${canary})"`,
      "cat <<EOF",
      `$(touch ${canary})`,
      "EOF",
      `: \${x:=$(touch ${canary})}`,
    );
    const { existsSync } = await import("node:fs");
    expect(existsSync(canary)).toBe(false);
  });

  it("handles quotes in the block", async () => {
    expect(await split("echo 'it'\\''s'; (exit 3)", 'echo "\'"')).toEqual(["echo 'it'\\''s'; (exit 3)", 'echo "\'"']);
  });
});

describe("comments and blank lines in a block", () => {
  it("comments belong to the command that follows, the last ones to the command before", async () => {
    expect(await split("# list", "ls", "", "# then", "# count", "wc -l a", "# done")).toEqual([
      "# list\nls",
      "# then\n# count\nwc -l a\n# done",
    ]);
  });

  it("a block of comments contains no command", async () => {
    expect(await split("# nothing", "", "# to do")).toEqual([]);
  });
});

describe("commands that need the same shell", () => {
  it("a background job stays with the commands that refer to it, and with no others", async () => {
    expect(await split("node server.js &", "PID=$!", "sleep 1", "kill $PID", "ls")).toEqual([
      "node server.js &\nPID=$!",
      "sleep 1",
      "kill $PID",
      "ls",
    ]);
    expect(await split("a &", "b &", "wait", "ls")).toEqual(["a &\nb &\nwait", "ls"]);
  });

  it("a background job stays alone when no command refers to it", async () => {
    expect(await split("node server.js &", "sleep 1")).toEqual(["node server.js &", "sleep 1"]);
  });

  it("the rest of the block stays with a command that changes the shell", async () => {
    expect(await split("ls", "set -euo pipefail", "false", "echo no")).toEqual([
      "ls",
      "set -euo pipefail\nfalse\necho no",
    ]);
  });
});

describe("limits of splitting a block", () => {
  it("a very long block runs as one script", async () => {
    const lines = Array.from({ length: MAX_SPLIT_LINES + 1 }, () => "echo 'x'");
    expect(await splitCommands(lines.join("\n"), unused)).toHaveLength(1);
  });

  it("there are never more commands than the limit, and no line is lost", async () => {
    const lines = Array.from({ length: MAX_COMMANDS + 20 }, (_, index) => `echo ${index}`);
    const commands = await splitCommands(lines.join("\n"), unused);
    expect(commands).toHaveLength(MAX_COMMANDS);
    expect(commands.join("\n")).toBe(lines.join("\n"));
  });

  it("with a parser that answers nonsense, every line still runs once and in order", async () => {
    const text = "echo 'a'\necho 'b'\necho 'c'";
    for (const answer of ["", "9\n", "2\n1\n2\nx\n", "-1\n3"]) {
      const commands = await splitCommands(text, () => Promise.resolve(answer));
      expect(commands.join("\n")).toBe(text);
    }
  });
});
