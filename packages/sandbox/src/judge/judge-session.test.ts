import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { defaultLimits } from "../limits.ts";
import type { Session, StartedProgram } from "../port.ts";
import { openJudge } from "./judge-session.ts";

it("a relay that neither listens nor ends does not block the judge for ever, and its session is ended", async () => {
  const streams = () => ({ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() });
  // An engine that answers but starts nothing: the program has no end.
  const relay: StartedProgram = { ...streams(), ended: new Promise(() => {}) };
  let ended = 0;
  const session = {
    attached: false,
    start: async () => relay,
    end: async () => {
      ended += 1;
    },
  } as unknown as Session;
  const spec = {
    run: "r",
    submission: { kind: "list", files: [] },
    files: [],
    limits: defaultLimits,
    guests: defaultLimits,
    labels: { app: "a", worker: "w" },
  } as const;
  const opening = openJudge({ open: async () => session }, spec, { relayMs: 20 });
  await expect(opening).rejects.toMatchObject({ code: "SANDBOX_START_FAILED" });
  expect(ended).toBe(1);
});
