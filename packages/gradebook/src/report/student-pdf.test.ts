import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
import { describe, expect, it } from "vitest";
import { criteria, gradeOf } from "../testing-sheet.ts";
import { studentPdf } from "./student-pdf.ts";
import { reportFor } from "./student-report.ts";

const at = new Date("2026-11-17T08:00:00Z");
const moment = { afterDueDate: true, published: true };
const grade = gradeOf({ is: "graded" }, [6, 3], {
  nextSteps: ["Read about subtraction.", "Test the empty text."],
  criteria: [
    {
      ...{ is: "scored", id: "tests", by: "tests", points: 6, level: null, comment: "1 of 2 tests passed." },
      ...{ evidence: [], confidence: null, notes: [] },
      tests: [
        { name: "to four", passed: true, weight: 1, share: 1, message: "", visibility: "visible" },
        { name: "secret test", passed: false, weight: 1, share: 0, message: "no", visibility: "hidden" },
      ],
    },
    {
      ...{
        is: "scored",
        id: "names",
        by: "llm",
        points: 3,
        level: "fair",
        comment: "Names are short.",
        confidence: 0.9,
      },
      ...{ evidence: [{ file: "roman.js", line: 2, quote: "const x = 1; // 変数 \u202e" }], tests: [], notes: [] },
    },
  ],
});
const reportOf = (student: string) => reportFor({ title: "Sheet 3", student, grade, criteria, moment, reviewer: null });

/** What a reader of the file gets: its text, its tags in order, what it says of itself. */
async function read(bytes: Buffer) {
  const pdf = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
  let text = "";
  const tags: string[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    text += items.map((item) => ("str" in item ? item.str : "")).join("");
    const visit = (node: { role?: string; children?: unknown[] }) => {
      if (node.role !== undefined) tags.push(node.role);
      for (const child of node.children ?? []) visit(child as { role?: string });
    };
    visit((await page.getStructTree()) as { role?: string });
  }
  const { info } = await pdf.getMetadata();
  return { text, tags, info: info as Record<string, unknown>, pages: pdf.numPages };
}

describe("a student's report as PDF", () => {
  it("is tagged: headings, lists and their order, a title and a language", async () => {
    const { text, tags, info } = await read(await studentPdf(reportOf("Ada"), { at }));
    expect(info).toMatchObject({ Title: "Sheet 3: Ada", Language: "en" });
    expect(tags.filter((tag) => /^(?:H\d|L|LI)$/.test(tag))).toEqual([
      "H1",
      "H2",
      "L",
      "LI",
      "H2",
      "H2",
      "L",
      "LI",
      "LI",
    ]);
    expect(text).toMatch("9 of 10 points");
    expect(text).toMatch("roman.js:2");
    expect(text).toMatch("Read about subtraction.");
    expect(text).not.toMatch("secret");
  });

  it.each(["李雷", "Öberg Åsa", "Dvořák Tomáš", "Ιωάννης", "Мила Иванова", "山田 はな"])("spells %s", async (name) => {
    expect((await read(await studentPdf(reportOf(name), { at }))).text.replaceAll(" ", "")).toMatch(
      name.replaceAll(" ", ""),
    );
  });

  it("says on the first page that an unreleased grade is a draft", async () => {
    expect((await read(await studentPdf({ ...reportOf("Ada"), draft: true }, { at }))).text).toMatch(
      /^DRAFT - not released/,
    );
    expect((await read(await studentPdf(reportOf("Ada"), { at }))).text).not.toMatch("DRAFT");
  });

  it("writes the number of a letter that no font has, and of one that hides", async () => {
    const { text } = await read(await studentPdf(reportOf("கண்ணன் 💥"), { at }));
    expect(text).toMatch("⟨b95⟩");
    expect(text).toMatch("⟨202e⟩");
  });

  it("goes on over pages, and is the same bytes for the same report", async () => {
    const long = {
      ...reportOf("Ada"),
      nextSteps: Array.from({ length: 200 }, (_, index) => `Step ${index} ${"word ".repeat(20)}`),
    };
    const bytes = await studentPdf(long, { at });
    expect((await read(bytes)).pages).toBeGreaterThan(3);
    expect((await studentPdf(long, { at })).equals(bytes)).toBe(true);
  });

  it("takes a word longer than the page is wide", async () => {
    const wide = { ...reportOf("Ada"), nextSteps: ["x".repeat(5000)] };
    expect((await read(await studentPdf(wide, { at }))).text.replaceAll(/[^x]/g, "").length).toBeGreaterThanOrEqual(
      5000,
    );
  });
});
