/** The judge session on both adapters. The self-test tries what a guest must not reach (packages/sandbox, judge-probes). */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerSandbox, type DockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { createJailSandbox, type JailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import { type JudgeLab, runJudgeProbes } from "../../packages/sandbox/src/probes/judge-probes.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { judgeCases } from "../support/judge-cases.ts";
import { judgeSpec } from "../support/judge-spec.ts";
import { sessionSpec } from "../support/session-spec.ts";

const docker = await dockerAvailable("judge sessions in Docker containers");

describe.skipIf(process.platform !== "linux").each([
  ["with cgroups", true],
  ["without cgroups", false],
])("the judge in the jail, %s", (_, useCgroups) => {
  let root = "";
  let sandbox: JailSandbox;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-judge-"));
    sandbox = await createJailSandbox({ root, host: { useCgroups } });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  judgeCases(
    () => sandbox,
    () => undefined,
    useCgroups ? "all" : "processes",
  );
});

describe.skipIf(!docker)("the judge in Docker", () => {
  let sandbox: DockerSandbox;
  let image = "";
  beforeAll(async () => {
    const engine = await sharedDocker();
    image = engine.image;
    sandbox = await createDockerSandbox({ hosts: [engine.host], images: [image] });
  });
  afterAll(() => sandbox?.close());
  judgeCases(
    () => sandbox,
    () => image,
    process.platform === "linux" ? "docker" : "all",
  );
});

describe.skipIf(process.platform !== "linux")("the self-test of the judge", () => {
  /** A wrong setup, in which student and judge share one session: the program is a child of the judge's shell. */
  const naive = `#!/bin/bash
time=10
while [[ $1 == --* ]]; do
  case $1 in --) shift; break ;; --time) time=$2; shift 2 ;; *) shift 2 ;; esac
done
cd /submission && exec timeout -s KILL "$time" "$@"
`;

  it("fails where guests are children of the judge", async () => {
    const root = await mkdtemp(join(tmpdir(), "markmill-naive-"));
    const sandbox = await createJailSandbox({ root });
    const openJudge: JudgeLab["openJudge"] = async (submission, files) => {
      const tools = [{ path: "guest", mode: 0o755, bytes: Buffer.from(naive) }];
      const readOnly = [
        { at: "/submission", files: submission },
        { at: "/judge", files },
        { at: "/run/judge", files: tools },
      ] as const;
      const session = await sandbox.open(sessionSpec("naive", { readOnly }));
      return {
        id: session.id,
        leftOut: 0,
        run: (command) => session.run({ ...command, text: `export PATH=/run/judge:"$PATH"; ${command.text}` }),
        end: () => session.end(),
      };
    };
    try {
      const { probes } = await runJudgeProbes({ openJudge, token: "token0123456789", diskBytes: 32 * 1024 * 1024 });
      const passed = probes.filter(({ refused }) => refused).map(({ name }) => name);
      // No session may do this, shared or not.
      expect(passed.sort()).toEqual(["a guest reaches the network", "a guest traces the judge"]);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});

describe("judging without a sandbox", () => {
  it("is refused, because nothing separates the judge from its guests", async () => {
    const root = await mkdtemp(join(tmpdir(), "markmill-none-"));
    const sandbox = createNoneSandbox({ root, warn: () => undefined });
    await expect(openJudge(sandbox, judgeSpec())).rejects.toThrow("SANDBOX_JUDGE_UNPROTECTED");
    expect(await sandbox.list()).toEqual([]);
    await rm(root, { recursive: true, force: true });
  });
});
