import { expect, it } from "vitest";
import { queuedJob } from "./board-job.ts";

/** A failed job as the queue returns it. A real job fails only because of a defect. */
function failedJob(failedReason: string) {
  const json = {
    id: "7",
    name: "activity",
    progress: { of: "Ada Lovelace" },
    attemptsMade: 2,
    timestamp: 1,
    failedReason,
    stacktrace: [`Error: ${failedReason}\n    at /home/ada/secret.ts:1:1`],
    returnvalue: "sk-hunter2",
    data: { runId: "r", activityId: 7, epoch: 1, text: "Ada Lovelace" },
    opts: { jobId: "7", note: "sk-hunter2" },
  };
  return { id: "7", data: json.data, toJSON: () => json } as unknown as Parameters<typeof queuedJob>[1];
}

it("the board shows of a failed job only its code and ids, not the text of errors or values", () => {
  const shown = queuedJob("prompt", failedJob("connect postgresql://app:hunter2@db for Ada Lovelace"), null).toJSON();
  expect(JSON.stringify(shown)).not.toMatch(/hunter2|Ada|home/);
  expect(shown).toMatchObject({
    failedReason: expect.stringContaining("log of the worker"),
    stacktrace: [],
    attemptsMade: 2,
  });
  expect(shown.data).toEqual({ runId: "r", activityId: 7, epoch: 1 });
});

it("the board keeps failure reasons that contain no personal data", () => {
  const reason = (text: string) => queuedJob("prompt", failedJob(text), null).toJSON().failedReason;
  expect(reason("STORE_BUSY: postgresql://app:hunter2@db")).toBe(
    "STORE_BUSY: Postgres has no free connection, or two transactions blocked each other. Fix: Raise max_connections, or start fewer workers.",
  );
  expect(reason("StoreError: STORE_BUG hunter2")).toMatch(/^STORE_BUG: [^:]+ Fix: [^:]+/);
  expect(reason("job stalled more than allowable limit")).toMatch(/^QUEUE_LOCK_LOST: .* Fix: /);
  // Codes of the worker, of the sandbox and of tools.
  for (const code of ["WORKER_CRASHED", "SANDBOX_NOT_CONFIGURED", "SANDBOX_KILL_FAILED", "TOOL_TIMEOUT"])
    expect(reason(`${code}: hunter2`)).toMatch(new RegExp(`^${code}: .+ Fix: .+`));
  expect(reason("Missing lock for job hunter2. moveToFinished")).toMatch(/^QUEUE_LOCK_LOST: .* Fix: /);
});
