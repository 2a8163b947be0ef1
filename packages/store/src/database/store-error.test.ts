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
  [{ code: undefined, message: "timeout expired" }, "STORE_UNREACHABLE", true],
  [{ code: "42P01", message: "relation does not exist" }, "STORE_SCHEMA_MISSING", false],
  [{ code: "40P01", message: "deadlock detected" }, "STORE_BUSY", true],
  [{ code: "08P01", message: "unsupported startup parameter: statement_timeout" }, "STORE_POOLER", false],
  [{ code: "26000", message: 'prepared statement "claim" does not exist' }, "STORE_POOLER", false],
  [
    { code: "SELF_SIGNED_CERT_IN_CHAIN", message: "self-signed certificate in certificate chain" },
    "STORE_UNTRUSTED",
    false,
  ],
  [
    { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE", message: "unable to verify the first certificate" },
    "STORE_UNTRUSTED",
    false,
  ],
  [
    { code: "ERR_TLS_CERT_ALTNAME_INVALID", message: "Hostname/IP does not match certificate's altnames" },
    "STORE_UNTRUSTED",
    false,
  ],
  [{ code: undefined, message: "The server does not support SSL connections" }, "STORE_UNTRUSTED", false],
  [
    { code: undefined, message: "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string" },
    "STORE_REFUSED",
    false,
  ],
  [{ code: "42501", message: "permission denied for schema markmill" }, "STORE_REFUSED", false],
  [{ code: "57P03", message: "the database system is shutting down" }, "STORE_UNREACHABLE", true],
  [{ code: "ENOTFOUND", message: "getaddrinfo ENOTFOUND no.such.host" }, "STORE_UNREACHABLE", true],
  [{ code: "58030", message: "could not write to file: No space left on device" }, "STORE_FULL", true],
  [{ code: "XX000", message: "could not fsync file" }, "STORE_SERVER_FAULT", false],
  [{ code: "58P01", message: "could not open file" }, "STORE_SERVER_FAULT", false],
  [{ code: "EPROTO", message: "write EPROTO wrong version number" }, "STORE_UNTRUSTED", false],
  [{ code: "INVALID_CA", message: "invalid CA certificate" }, "STORE_UNTRUSTED", false],
  [{ code: "08P01", message: "password authentication failed" }, "STORE_REFUSED", false],
  [{ code: "08P01", message: "no such database: nothing" }, "STORE_REFUSED", false],
  [{ code: "08P01", message: 'database "nothing" does not exist' }, "STORE_REFUSED", false],
  [{ code: "08P01", message: "no more connections allowed (max_client_conn)" }, "STORE_BUSY", true],
  [{ code: "22P02", message: "invalid input syntax" }, "STORE_BUG", false],
])("the store error for %o is %s", (given, code, transient) => {
  const error = translate(Object.assign(new Error(given.message), { code: given.code }), "Testing");
  expect(error).toMatchObject({ code, transient, message: `Testing: ${given.message}` });
  expect(error.fix).not.toBe("");
});

it.each(["EMFILE", "EPERM", "EADDRNOTAVAIL"])(
  "a connection that the system refuses with %s is not reported as a defect",
  (code) => {
    const error = Object.assign(new Error(`connect ${code} 10.0.0.1:5432`), { code, syscall: "connect" });
    expect(translate(error, "Testing").code).toBe("STORE_UNREACHABLE");
    expect(translate(new AggregateError([error]), "Testing").code).toBe("STORE_UNREACHABLE");
  },
);

it("translating a StoreError returns it unchanged", () => {
  const error = new StoreError("STORE_NOT_FOUND", "no");
  expect(translate(error, "x")).toBe(error);
});

it("contention is a deadlock, a serialization failure or a lock that was not available", () => {
  expect(["40P01", "40001", "55P03", "23505"].map((code) => isContention({ code }))).toEqual([true, true, true, false]);
});
