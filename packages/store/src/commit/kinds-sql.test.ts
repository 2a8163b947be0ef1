import { expect, it } from "vitest";
import { changesFiles, isLeasedSql, waitsForAnswer, waitsForCallee } from "./kinds-sql.ts";

it("SQL conditions on activities list the same kinds as the table of work kinds", () => {
  expect(waitsForAnswer("a")).toBe("a.kind in ('ask')");
  expect(waitsForCallee("k")).toBe("k.kind in ('call')");
  expect(isLeasedSql("a")).toContain("a.kind in ('note') and a.work ->> 'read' is not null");
  expect(isLeasedSql("a")).not.toMatch(/'(ask|call)'/);
  expect(changesFiles("a")).toContain("a.kind in ('execute') and a.work ->> 'session' is null");
});
