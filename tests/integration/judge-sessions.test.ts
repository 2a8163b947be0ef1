/** The judge session on both adapters. What a guest must not reach is tried by the self-test (packages/sandbox, judge-probes). */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerSandbox, type DockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { createJailSandbox, type JailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { judgeCases } from "../support/judge-cases.ts";
import { judgeSpec } from "../support/judge-spec.ts";

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
  );
});

describe("without a sandbox", () => {
  it("nobody judges: there is no wall", async () => {
    const root = await mkdtemp(join(tmpdir(), "markmill-none-"));
    const sandbox = createNoneSandbox({ root, warn: () => undefined });
    await expect(openJudge(sandbox, judgeSpec())).rejects.toThrow("SANDBOX_JUDGE_UNPROTECTED");
    expect(await sandbox.list()).toEqual([]);
    await rm(root, { recursive: true, force: true });
  });
});
