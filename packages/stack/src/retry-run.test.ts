import type { RunDetail } from "@markmill/store";
import { expect, it } from "vitest";
import { retryRun } from "./retry-run.ts";

it("retryRun refuses a run that grades a submission of a class, because its grade would not count", async () => {
  const old = { id: "r", rootId: "r", endedAt: new Date(0), options: { grading: { batch: "b", work: "Student-1" } } };
  for (const from of [null, "START", "PROMPT_X"]) {
    const retried = retryRun({} as never, old as unknown as RunDetail, { from, caps: {} });
    await expect(retried).rejects.toMatchObject({ code: "RUN_OF_CLASS", fix: expect.stringContaining("retry b") });
  }
});
