/** Checkpoints where nothing isolates: the rest of this adapter is the session script's and the wrapper's. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import type { Sandbox, SessionFiles } from "../../packages/sandbox/src/port.ts";
import { describeCheckpoints } from "../support/checkpoint-cases.ts";
import { describeLooks } from "../support/look-cases.ts";
import { sessionSpec } from "../support/session-spec.ts";

describe.skipIf(process.platform !== "linux")("checkpoints without a sandbox", () => {
  let root = "";
  let sandbox: Sandbox;
  beforeAll(async () => {
    // In memory, as the other adapters have it: some cases make files by the ten thousand.
    root = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "markmill-none-"));
    sandbox = createNoneSandbox({ root, warn: () => undefined });
  });
  afterAll(async () => {
    for (const { id } of await sandbox.list()) await sandbox.remove(id);
    await rm(root, { recursive: true, force: true });
  });
  const harness = {
    open: (files?: SessionFiles) =>
      sandbox.open(sessionSpec(`t-${randomBytes(6).toString("hex")}`, files === undefined ? {} : { files })),
    ownTmp: false,
    spec: () => sessionSpec("any"),
  };
  describeCheckpoints(harness);
  describe("looks", () => describeLooks(harness));
});
