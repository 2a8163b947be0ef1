/** A commit that the store refuses for ever would come back for ever: it becomes a failure, and a failure that is refused ends the run. */
import { isTroubleOfServer, StoreError } from "@markmill/store";
import { failed } from "../performed.ts";
import type { Done } from "./after-performing.ts";

export type AfterRefusedCommit =
  /** It may pass, or it is for others to do: the activity is given back. */
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
