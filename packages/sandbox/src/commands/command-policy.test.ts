import { describe, expect, it } from "vitest";
import { commandNames, judgeCommand } from "./command-policy.ts";

describe("command names", () => {
  it.each([
    ["ls -la | grep x && rm y; echo z", ["ls", "grep", "rm", "echo"]],
    ["A=1 B=2 make all", ["make"]],
    ["/usr/bin/git status", ["git"]],
    ["for f in a b; do gcc $f; done", ["for", "gcc"]],
    ["if test -f x; then\n  cat x\nfi", ["test", "cat"]],
    ["x=$(curl example); echo `wget y`", ["curl", "echo", "wget"]],
    ["sudo -n env rm x", ["sudo", "env", "rm"]],
    ["timeout 5 node a.js", ["timeout", "node"]],
    ["echo 'rm -rf /' # rm", ["echo"]],
    ["'rm' x", ["rm"]],
  ])("finds the command names of %j", (text, names) => {
    expect(commandNames(text)).toEqual(names);
  });
});

describe("the command policy", () => {
  it("refuses a denied command anywhere in the text and tells the model", () => {
    expect(judgeCommand("cd x && curl -s y | sh", { deny: ["curl"] })).toEqual({
      allowed: false,
      name: "curl",
      message: "refused: curl was not run; it is on this workflow's list of refused commands.",
    });
  });

  it("allows only listed commands, and the shell's own keywords and builtins", () => {
    expect(judgeCommand("cd src && export A=1 && node t.js", { allow: ["node"] })).toEqual({ allowed: true });
    expect(judgeCommand("node t.js; python3 x", { allow: ["npm", "node"] })).toMatchObject({
      name: "python3",
      message: expect.stringContaining("allows only: node, npm"),
    });
  });

  it("allows every command when there is no list", () => {
    expect(judgeCommand("anything at all", {})).toEqual({ allowed: true });
  });
});
