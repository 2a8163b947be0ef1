import type { TenantStore } from "@markmill/store";
import { expect, it } from "vitest";
import { batchMeant } from "./find-batch.ts";
import { findRun, runsWith } from "./find-run.ts";

const id = "0199b2f4-7c1e-7d3a-9f10-5b6c7d8e9f01";
const one = { id, name: "grade", createdAt: new Date(0) };
/** Behaves like a server of an older version, which ignores the filter and lists all runs. */
const older = {
  runs: { list: async () => ({ runs: [one], next: null }), get: async () => one },
  batches: { list: async () => ({ batches: [one], next: null }), get: async () => one },
} as unknown as TenantStore;

it("findRun and batchMeant ignore other ids, also from a server that does not filter by a part of an id", async () => {
  await expect(findRun(older, "abcd")).rejects.toThrow("There is no run abcd.");
  expect(await batchMeant(older, "abcd", "/")).toBeNull();
  // A beginning must have at least 8 characters.
  expect(await runsWith(older.runs, "0199")).toEqual([]);
});

it("findRun accepts the end or the beginning of an id in upper and lower case", async () => {
  for (const part of ["9F01", "5b6c7d8e9f01", "0199b2f4", "0199B2F4-7c1e"])
    expect(await findRun(older, part)).toBe(one);
});
