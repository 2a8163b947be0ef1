import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const cwd = mkdtempSync(join(tmpdir(), "markmill-processes-"));

function call(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const file = join(root, program);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
    ...{ cwd, encoding: "utf8", timeout: 60_000, env: { ...process.env, ...env } },
  });
  return { status, stdout, stderr };
}

describe.each(["worker", "supervisor"])("the program of a %s", (role) => {
  const own = `apps/${role}/bin/markmill-${role}.mjs`;

  it("is the command of the same name: one help text", () => {
    const ours = call(own, ["--help"]);
    const command = call("apps/cli/bin/markmill.mjs", [role, "--help"]);
    expect([ours.status, command.status]).toEqual([0, 0]);
    expect(ours.stdout.replaceAll(`markmill-${role}`, `markmill ${role}`)).toBe(command.stdout);
  });

  it("refuses words it does not know, and settings it cannot use, with exit code 2", () => {
    expect(call(own, ["now"])).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("'now'") });
    const wrong = call(own, [], { LOG_LEVEL: "loud" });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toMatch(new RegExp(`^markmill-${role}: the configuration is invalid.\\n.*LOG_LEVEL`));
  });
});
