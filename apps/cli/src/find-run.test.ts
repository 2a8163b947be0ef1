import type { TenantStore } from "@markmill/store";
import { expect, it } from "vitest";
import { batchMeant } from "./find-batch.ts";
import { findRun, runsWith } from "./find-run.ts";

const id = "0199b2f4-7c1e-7d3a-9f10-5b6c7d8e9f01";
const one = { id, name: "grade", createdAt: new Date(0) };
/** As a server of an older version, which does not know the filter: it lists whatever there is. */
const older = {
  runs: { list: async () => ({ runs: [one], next: null }), get: async () => one },
  batches: { list: async () => ({ batches: [one], next: null }), get: async () => one },
} as unknown as TenantStore;

it("takes no run and no class of another id, also from a server that does not know the part of an id", async () => {
  await expect(findRun(older, "abcd")).rejects.toThrow("There is no run abcd.");
  expect(await batchMeant(older, "abcd", "/")).toBeNull();
  // The beginning counts from 8 characters on.
  expect(await runsWith(older.runs, "0199")).toEqual([]);
});

it("takes the run of an end or a beginning in any case of letters", async () => {
  for (const part of ["9F01", "5b6c7d8e9f01", "0199b2f4", "0199B2F4-7c1e"])
    expect(await findRun(older, part)).toBe(one);
});
