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
    cwd,
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr };
}

const command = "apps/cli/bin/markmill.mjs";

describe.each(["api", "worker", "supervisor"])("the command of the process %s", (role) => {
  it("explains its usage in its help", () => {
    const { status, stdout } = call(command, [role, "--help"]);
    expect(status).toBe(0);
    expect(stdout).toContain(`markmill ${role}`);
  });

  it("refuses unknown words and invalid settings with exit code 2", () => {
    expect(call(command, [role, "now"])).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining("'now'"),
    });
    const wrong = call(command, [role], { LOG_LEVEL: "loud" });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toMatch(new RegExp(`^markmill ${role}: the configuration is invalid.\\n.*LOG_LEVEL`));
  });
});

describe("the program of the API", () => {
  const own = "apps/api/bin/markmill-api.mjs";

  it("has the help text of the command of the same name", () => {
    const ours = call(own, ["--help"]);
    expect(ours.status).toBe(0);
    expect(ours.stdout.replaceAll("markmill-api", "markmill api")).toBe(call(command, ["api", "--help"]).stdout);
  });

  it("refuses unknown words and invalid settings with exit code 2", () => {
    expect(call(own, ["now"])).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("'now'") });
    const wrong = call(own, [], { LOG_LEVEL: "loud" });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toMatch(/^markmill-api: the configuration is invalid.\n.*LOG_LEVEL/);
  });
});
