/** Trouble of the database server, whatever the query was. An operator repairs it, and no run or submission ends because of it. */
import type { StoreError, StoreErrorCode } from "./store-error.ts";

const ofTheServer: ReadonlySet<StoreErrorCode> = new Set([
  "STORE_REFUSED",
  "STORE_UNTRUSTED",
  "STORE_READ_ONLY_SETTING",
  "STORE_POOLER",
  "STORE_VERSION",
  "STORE_SERVER_FAULT",
  "STORE_SCHEMA_MISSING",
  "STORE_SCHEMA_NEWER",
]);

export function isTroubleOfServer(error: StoreError): boolean {
  return error.transient || ofTheServer.has(error.code);
}
