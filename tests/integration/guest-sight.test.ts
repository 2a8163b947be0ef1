/** Prints everything that a guest of a judge can see of the machine, and searches it for the install path and the run id. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { createJailSandbox, type JailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { judgeSpec } from "../support/judge-spec.ts";
import { sessionSpec } from "../support/session-spec.ts";

const docker = await dockerAvailable("what a guest sees in a Docker container");

/** An unreadable file prints nothing. */
const LOOK = `
echo "args: $0 $*"; pwd; env; export -p; set; hostname; uname -a; id; df -a; mount
for file in cmdline environ cgroup mounts mountinfo mountstats status maps auxv limits oom_score comm cpuset numa_maps smaps; do
  for process in /proc/[0-9]* /proc/self /proc/thread-self; do echo "== $process/$file"; tr '\\0' '\\n' <$process/$file; done
done
for link in cwd root exe ns/cgroup fd/0 fd/1 fd/2 fd/255; do for process in /proc/[0-9]*; do readlink $process/$link; done; done
for file in /proc/mounts /proc/cgroups /proc/locks /proc/net/unix /proc/keys /proc/swaps /proc/cmdline /proc/version /proc/partitions; do cat $file; done
cat /sys/fs/cgroup/cgroup.procs /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /etc/hostname /etc/mtab /etc/passwd
for place in / .. ../.. /opt /opt/programs /opt/session /tmp /workspace /run /var /dev /home /root /mnt /etc; do echo "== $place"; ls -la $place; done
node -e 'console.log(process.execPath, process.argv, process.env, process.config.variables, require("module").globalPaths)'
node -e 'require("./absent")'
python3 -c 'import absent' ; perl -e 'require absent'
./absent; cd /absent; cat /absent; bash -c 'absent'
echo looked at all
`;

describe.skipIf(process.platform !== "linux").each([
  ["with cgroups", true],
  ["without cgroups", false],
])("programs in the jail, %s", (_, useCgroups) => {
  let root = "";
  let sandbox: JailSandbox;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-sight-"));
    sandbox = await createJailSandbox({ root, host: { useCgroups }, programs: { node: process.execPath } });
  });
  afterAll(async () => {
    await sandbox.close();
    await rm(root, { recursive: true, force: true });
  });
  const install = resolve(import.meta.dirname, "../..");

  it("a guest sees neither the install path nor the run id", async () => {
    const look = { path: "look.sh", mode: 0o755, bytes: Buffer.from(LOOK) };
    const spec = judgeSpec({ run: "run-0f1e2d3c4b5a", submission: { kind: "list", files: [look] } });
    const judge = await openJudge(sandbox, spec);
    try {
      const { output } = await judge.run({ kind: "shell", text: "guest --output 8000000 -- bash look.sh 2>&1" });
      expect(output).toMatch(/== \/proc\/self\/mountinfo\n\d+ /);
      expect(output).toMatch(/== \/proc\/self\/cgroup\n/);
      expect(output).toMatch(/\/opt\/programs\/node/);
      expect(output).toContain("looked at all");
      for (const secret of ["0f1e2d3c4b5a", "-judge-", install, dirname(process.execPath), root]) {
        const line = output.split("\n").find((one) => one.includes(secret));
        expect(line, secret).toBeUndefined();
      }
    } finally {
      await judge.end();
    }
  });

  it("a command in its own session sees neither the install path nor the run id", async () => {
    const files = { kind: "list", files: [{ path: "look.sh", mode: 0o755, bytes: Buffer.from(LOOK) }] } as const;
    const session = await sandbox.open({ ...sessionSpec("run-5a4b3c2d1e0f"), files });
    try {
      const { output } = await session.run({ kind: "shell", text: "bash look.sh 2>&1" });
      expect(output).toContain("looked at all");
      for (const secret of ["5a4b3c2d1e0f", install, dirname(process.execPath), root]) {
        const line = output.split("\n").find((one) => one.includes(secret));
        expect(line, secret).toBeUndefined();
      }
    } finally {
      await session.end();
    }
  });
});

describe.skipIf(!docker)("programs in a container", () => {
  it("as guests see neither the install path nor the run id", async () => {
    const engine = await sharedDocker();
    const sandbox = await createDockerSandbox({ hosts: [engine.host], images: [engine.image] });
    const look = { path: "look.sh", mode: 0o755, bytes: Buffer.from(LOOK) };
    const spec = judgeSpec({
      run: "run-0f1e2d3c4b5a",
      image: engine.image,
      submission: { kind: "list", files: [look] },
    });
    const judge = await openJudge(sandbox, spec);
    try {
      // The text is too long for the output of one command, so the judge searches it.
      // The engine of the tests is below this folder, in .cache. Only the place of the product matters.
      const install = resolve(import.meta.dirname, "../..");
      const secrets = [
        "0f1e2d3c4b5a",
        "-judge-",
        ...["node_modules", "packages", "apps"].map((one) => join(install, one)),
      ];
      const { output } = await judge.run({
        kind: "shell",
        text: `guest --time 50 --output 8000000 -- bash look.sh >seen 2>&1; grep -a -x 'looked at all' seen; grep -a -c ' /workspace ' seen; grep -a -F ${secrets.map((one) => `-e '${one}'`).join(" ")} seen; echo end`,
      });
      expect(output).toMatch(/^looked at all\n[1-9]\d*\nend\n$/);
    } finally {
      await judge.end();
      await sandbox.close();
    }
  });
});
