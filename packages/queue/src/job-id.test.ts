import { expect, it } from "vitest";
import { jobId, parseJobId } from "./job-id.ts";

it("a job id names activity, attempt and enqueue, and can be read back", () => {
  const spec = { activityId: 42, attempt: 2, enqueues: 7 };
  expect(jobId(spec)).toBe("a42-2-7");
  expect(parseJobId(jobId(spec))).toEqual(spec);
});

it("a job id is never one that BullMQ refuses: no colon, not only digits", () => {
  expect(jobId({ activityId: 1, attempt: 1, enqueues: 1 })).toMatch(/^[^:]*[^:\d][^:]*$/);
});

it("an id of somebody else is none of ours", () => {
  for (const id of ["", "42", "a42", "a42-1", "b42-1-1", "a42-1-1-1", "repeat:x"]) expect(parseJobId(id)).toBeNull();
});
