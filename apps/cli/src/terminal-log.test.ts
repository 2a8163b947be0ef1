import { StoreError } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { terminalLog } from "./terminal-log.ts";

function heard() {
  const lines: string[] = [];
  return { lines, log: terminalLog({ err: (text) => lines.push(text) }) };
}

describe("the terminal log", () => {
  it("shows temporary trouble once, even if its text changes, with its code and its fix", () => {
    const { lines, log } = heard();
    for (const file of ["pgsql_tmp1", "pgsql_tmp2"]) {
      const err = new StoreError("STORE_FULL", `Committing: could not write to file "${file}": No space left`);
      log.error({ err }, "an activity could not be advanced");
    }
    expect(lines).toEqual([
      'markmill: an activity could not be advanced: STORE_FULL: Committing: could not write to file "pgsql_tmp1": No space left',
      "fix: Free disk space on the database server. No committed data is lost.",
    ]);
  });

  it("shows other trouble once per sentence, and a fix once", () => {
    const { lines, log } = heard();
    for (const words of ["odd", "odd", "odder"]) log.warn({ err: new StoreError("STORE_BUG", words) }, "the database");
    log.warn({}, "testing the sandbox");
    log.info({}, "started");
    expect(lines.map((line) => line.slice(0, 40))).toEqual([
      "markmill: the database: STORE_BUG: odd",
      "fix: This is a defect in Markmill. Pleas",
      "markmill: the database: STORE_BUG: odder",
      "markmill: testing the sandbox",
    ]);
  });
});
