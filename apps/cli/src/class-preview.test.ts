import type { ClassIntake } from "@markmill/classroom";
import { expect, it } from "vitest";
import { previewClass } from "./class-preview.ts";

const submission = (key: string, content: ClassIntake["submissions"][number]["content"]) => ({
  key,
  by: ["ada"],
  countsFor: ["ada"],
  group: null,
  attempt: 1,
  counts: true,
  label: key,
  sources: [key],
  submittedAt: null,
  lateness: { is: "on time" } as const,
  content,
});

it("the class preview does not count submissions that wait for a decision as submissions to grade", () => {
  const open = { is: "undecided", hash: "h", message: "a and b were handed in", fix: "" } as const;
  const taken = { is: "taken", hash: "h", files: 1, bytes: 10, paths: ["a.js"], notes: [] } as const;
  const [first] = previewClass(
    "Sums",
    {
      layout: "plain",
      members: [{ key: "ada", name: "Ada" }],
      unfetched: [],
      unmatched: [],
      withoutWork: [],
      choices: [],
      problems: [],
      submissions: [submission("a", open), submission("b", open), submission("c", taken)],
    },
    null,
  );
  expect(first).toContain("1 submission to grade, 2 submissions to decide first");
});
