/**
 * If the store refuses a commit permanently, the job would return for ever. So the commit becomes a failure, and a refused failure ends the
 * run.
 */
import { isTroubleOfServer, StoreError } from "@markmill/store";
import { failed } from "../performed.ts";
import type { Done } from "./after-performing.ts";

export type AfterRefusedCommit =
  /** The refusal may pass, or other workers must commit: release the activity. */
  | { readonly do: "give back" }
  | { readonly do: "commit"; readonly done: Done }
  | { readonly do: "break the run"; readonly why: string };

export function afterRefusedCommit(error: unknown, refused: Done): AfterRefusedCommit {
  if (!(error instanceof StoreError) || isTroubleOfServer(error) || error.code === "STORE_STATE_NEWER") {
    return { do: "give back" };
  }
  if (refused.did === "fail") return { do: "break the run", why: error.message };
  return { do: "commit", done: failed(error.code, error.message, "fail", { usage: refused.usage }) };
}
