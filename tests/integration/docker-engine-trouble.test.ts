/** Docker engines that are down, hang or stall: no verdict comes of it, no engine blocks another one, and nothing waits for ever. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeEngines } from "../../packages/sandbox/src/docker/describe-engines.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { type StallingEngine, startStallingEngine } from "../support/stalling-engine.ts";

const available = await dockerAvailable("Docker engines that are down, hang or stall");
const absent = "unix:///nonexistent/docker.sock";

describe.skipIf(!available)("Docker engines in trouble", () => {
  let host = "";
  let image = "";
  /** Accepts connections and says nothing. */
  let hanging: StallingEngine;

  beforeAll(async () => {
    ({ host, image } = await sharedDocker());
    hanging = await startStallingEngine(null);
  });
  afterAll(async () => {
    await hanging?.close();
  });

  it("are told apart for the operator: absent, hanging, and one that serves, with its images and room", async () => {
    const missing = `markmill-absent-${randomBytes(4).toString("hex")}`;
    const standing = await describeEngines(
      { hosts: [absent, hanging.host, host], images: [image, missing], bounds: { answerMs: 2_000 } },
      { selfTest: false },
    );
    expect(standing).toMatchObject([
      { host: absent, reachable: false, problem: expect.stringMatching(/^SANDBOX_ENGINE_UNREACHABLE: .*ENOENT/) },
      { host: hanging.host, reachable: false, problem: expect.stringContaining("no answer to a ping in 2000 ms") },
      {
        host,
        reachable: true,
        problem: null,
        facts: { engineVersion: expect.stringMatching(/^\d+\./) },
        images: [
          { name: image, present: true },
          { name: missing, present: false },
        ],
        storage: { place: expect.stringMatching(/^\//), freeBytes: expect.any(Number) },
        selfTest: null,
      },
    ]);
  });
});
