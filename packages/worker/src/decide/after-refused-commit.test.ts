import { StoreError } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { done, failed } from "../performed.ts";
import { afterRefusedCommit } from "./after-refused-commit.ts";

const usage = { calls: 1, promptTokens: 1, completionTokens: 2, characters: 3, nanodollars: 4 };
const success = done({ kind: "replied", text: "yes" }, usage);
const failure = failed("MODEL_REFUSED", "no", "fail");

describe("decision after the store refused a commit", () => {
  it("the activity is released if the refusal may pass, needs a newer worker, or does not come from the store", () => {
    for (const error of [
      new StoreError("STORE_UNREACHABLE", "away"),
      new StoreError("STORE_STATE_NEWER", "form 9"),
      new StoreError("STORE_REFUSED", "the password was changed"),
      new StoreError("STORE_SERVER_FAULT", "could not open file"),
      new StoreError("STORE_READ_ONLY_SETTING", "default_transaction_read_only is on"),
      new Error("odd"),
    ]) {
      for (const refused of [success, failure]) expect(afterRefusedCommit(error, refused)).toEqual({ do: "give back" });
    }
  });

  it("a success that cannot be written becomes a failure with its cost, and a failure that cannot be written ends the run", () => {
    const error = new StoreError("STORE_BUG", "unwritable");
    const first = afterRefusedCommit(error, success);
    expect(first).toMatchObject({ do: "commit", done: { did: "fail", failure: { code: "STORE_BUG" }, usage } });
    if (first.do !== "commit") throw new Error("not reached");
    expect(afterRefusedCommit(error, first.done)).toEqual({ do: "break the run", why: error.message });
  });
});
