import { expect, it } from "vitest";
import { isContention, StoreError, translate } from "./store-error.ts";

it.each([
  [{ code: "ECONNREFUSED", message: "connect ECONNREFUSED" }, "STORE_UNREACHABLE", true],
  [{ code: "57P01", message: "terminating connection" }, "STORE_UNREACHABLE", true],
  [{ code: "28P01", message: "password authentication failed" }, "STORE_REFUSED", false],
  [{ code: "3D000", message: "database does not exist" }, "STORE_REFUSED", false],
  [{ code: "53300", message: "too many clients" }, "STORE_BUSY", true],
  [{ code: "53100", message: "disk full" }, "STORE_FULL", true],
  [{ code: "25006", message: "read-only transaction" }, "STORE_READ_ONLY", true],
  [{ code: undefined, message: "Query read timeout" }, "STORE_UNREACHABLE", true],
  [{ code: "42P01", message: "relation does not exist" }, "STORE_SCHEMA_MISSING", false],
  [{ code: "40P01", message: "deadlock detected" }, "STORE_BUSY", true],
  [{ code: "22P02", message: "invalid input syntax" }, "STORE_BUG", false],
])("%o is %s", (given, code, transient) => {
  const error = translate(Object.assign(new Error(given.message), { code: given.code }), "Testing");
  expect(error).toMatchObject({ code, transient, message: `Testing: ${given.message}` });
  expect(error.fix).not.toBe("");
});

it("an error of ours stays what it is", () => {
  const error = new StoreError("STORE_NOT_FOUND", "no");
  expect(translate(error, "x")).toBe(error);
});

it("contention is a deadlock, a serialization failure or a lock that was not had", () => {
  expect(["40P01", "40001", "55P03", "23505"].map((code) => isContention({ code }))).toEqual([true, true, true, false]);
});
