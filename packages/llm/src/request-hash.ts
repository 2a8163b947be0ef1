import { createHash } from "node:crypto";
import { isRecord } from "@markmill/base/json";
import type { ModelRequest } from "./model-request.ts";

/** Equal for equal requests, regardless of the order of their keys. It is the third part of a call's key (I3). */
export function requestHash(request: ModelRequest): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

/** JSON with sorted keys and without undefined members. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isRecord(inner)) return inner;
    // Object.fromEntries instead of assignment: a key called __proto__ must stay a key.
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}
