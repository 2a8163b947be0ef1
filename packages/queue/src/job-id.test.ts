import { expect, it } from "vitest";
import { jobId, parseJobId } from "./job-id.ts";

it("a job id contains activity, attempt and enqueue count, and can be parsed again", () => {
  const spec = { activityId: 42, attempt: 2, enqueues: 7 };
  expect(jobId(spec)).toBe("a42-2-7");
  expect(parseJobId(jobId(spec))).toEqual(spec);
});

it("BullMQ accepts every job id: it has no colon and is not only digits", () => {
  expect(jobId({ activityId: 1, attempt: 1, enqueues: 1 })).toMatch(/^[^:]*[^:\d][^:]*$/);
});

it("the job id of another application is not parsed", () => {
  for (const id of ["", "42", "a42", "a42-1", "b42-1-1", "a42-1-1-1", "repeat:x"]) expect(parseJobId(id)).toBeNull();
});
