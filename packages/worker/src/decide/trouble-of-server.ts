/** Trouble of the database server, whatever was asked of it: somebody mends it, and no run ends for it. */
import type { StoreError, StoreErrorCode } from "@markmill/store";

const ofTheServer: ReadonlySet<StoreErrorCode> = new Set([
  "STORE_REFUSED",
  "STORE_SERVER_FAULT",
  "STORE_UNTRUSTED",
  "STORE_READ_ONLY_SETTING",
  "STORE_POOLER",
  "STORE_VERSION",
  "STORE_SCHEMA_MISSING",
  "STORE_SCHEMA_NEWER",
]);

export function isTroubleOfServer(error: StoreError): boolean {
  return error.transient || ofTheServer.has(error.code);
}
