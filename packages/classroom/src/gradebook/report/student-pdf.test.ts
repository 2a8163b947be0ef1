import { createHash } from "node:crypto";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
import { describe, expect, it } from "vitest";
import { inkOf, pictureOf, stripOf } from "../testing-picture.ts";
import { criteria, gradeOf } from "../testing-sheet.ts";
import { studentPdf } from "./student-pdf.ts";
import { reportFor } from "./student-report.ts";

const at = new Date("2026-11-17T08:00:00Z");
const moment = { afterDueDate: true, published: true };
const grade = gradeOf({ is: "graded" }, [6, 3], {
  nextSteps: ["Read about subtraction.", "Test the empty text."],
  criteria: [
    {
      is: "scored",
      id: "tests",
      by: "tests",
      points: 6,
      level: null,
      comment: "1 of 2 tests passed.",
      evidence: [],
      confidence: null,
      notes: [],
      tests: [
        { name: "to four", passed: true, weight: 1, share: 1, message: "", visibility: "visible" },
        { name: "secret test", passed: false, weight: 1, share: 0, message: "no", visibility: "hidden" },
      ],
    },
    {
      is: "scored",
      id: "names",
      by: "llm",
      points: 3,
      level: "fair",
      comment: "Names are short.",
      confidence: 0.9,
      evidence: [{ file: "roman.js", line: 2, quote: "const x = 1; // 変数 \u202e" }],
      tests: [],
      notes: [],
    },
  ],
});
const reportOf = (student: string) => reportFor({ title: "Sheet 3", student, grade, criteria, moment, reviewer: null });

/** Reads the file as a PDF reader does: its text, its tags in order, and its metadata. */
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
      ...["H1", "H2", "L", "LI", "H2"],
      ...["H2", "L", "LI", "LI"],
    ]);
    expect(text).toMatch("9 of 10 points");
    expect(text).toMatch("Quoted from your file roman.js, line 2");
    expect(text).toMatch("Read about subtraction.");
    expect(text).not.toMatch("secret");
  });

  it.each(["李雷", "Öberg Åsa", "Dvořák Tomáš", "Ιωάννης", "Мила Иванова", "山田 はな", "김민수"])(
    "contains %s in its text",
    async (name) => {
      expect((await read(await studentPdf(reportOf(name), { at }))).text.replaceAll(" ", "")).toMatch(
        name.replaceAll(" ", ""),
      );
    },
  );

  it("draws a name in every script, and different names differently", async () => {
    const names = [
      ...[
        "李雷",
        "韩梅梅",
        "陳大文",
        "山田 はな",
        "佐藤 ケン",
        "𠮷田",
        "김민수",
        "박지영",
        `${"박지영".normalize("NFD")}님`,
      ],
      ...["محمد علي", "דוד כהן", "राम कृष्ण", "प्रिया", "สมชาย", "สมหญิง", "கண்ணன்", "💥", "Мила", "Ada"],
    ];
    // The line of the name, below the title.
    const drawn = async (name: string) => stripOf(await pictureOf(await studentPdf(reportOf(name), { at })), 84, 103);
    const blank = inkOf(await drawn(" "));
    const seen = new Map<string, string>();
    for (const name of names) {
      const strip = await drawn(name);
      expect(inkOf(strip) - blank, `ink of ${name}`).toBeGreaterThan(60);
      const picture = createHash("sha256").update(strip).digest("hex");
      expect(seen.get(picture), `${name} is drawn like`).toBeUndefined();
      seen.set(picture, name);
    }
  }, 60_000);

  it("draws a quotation in Chinese and a heading in Korean", async () => {
    const inkOfTitle = async (title: string) =>
      inkOf(stripOf(await pictureOf(await studentPdf({ ...reportOf("Ada"), title }, { at })), 50, 82));
    expect(await inkOfTitle("과제")).toBeGreaterThan((await inkOfTitle(" ")) + 200);
    const report = reportOf("Ada");
    const inkOfPage = async (quote: string) => {
      const [first, second] = report.criteria;
      const quoted = { ...second, evidence: [{ file: "a.py", line: 1, quote }] } as typeof second;
      const changed = { ...report, criteria: [first, quoted] as typeof report.criteria };
      return inkOf((await pictureOf(await studentPdf(changed, { at }))).grey);
    };
    expect(await inkOfPage("変数変数変数")).toBeGreaterThan((await inkOfPage("      ")) + 300);
  });

  it("places words of Arabic from right to left", async () => {
    const [one, other] = ["محمد", "علي"];
    const width = 300;
    const columns = async (name: string) => {
      const picture = await pictureOf(await studentPdf(reportOf(name), { at }));
      const strip = stripOf(picture, 84, 103);
      return Array.from({ length: width }, (_, x) =>
        inkOf(
          Uint8Array.from(
            { length: strip.length / picture.width },
            (_, y) => strip[y * picture.width + 112 + x] ?? 255,
          ),
        ),
      ).map((ink) => ink > 0);
    };
    const alone = await columns(other);
    const both = await columns(`${one} ${other}`);
    const end = alone.lastIndexOf(true);
    expect(both.slice(0, end + 1)).toEqual(alone.slice(0, end + 1));
  });

  it("does not fail on a text that a font cannot lay out", async () => {
    const hard = "శ్రీనివాస్ தமிழ் ক্ষ ਪੰਜਾਬੀ ខ្មែរ មrouge \u{1f468}\u200d\u{1f469} \ud800 \u0301\u0301 \u{e0001} \ufdfa";
    const { text } = await read(await studentPdf({ ...reportOf(hard), nextSteps: [hard] }, { at }));
    expect(text).toMatch("⟨c36⟩");
  });

  it("keeps the lines of compiler output, and wraps long ones", async () => {
    const report = reportOf("Ada");
    const output = `a.c:3: error\n    3 |     return 0\n${"y".repeat(300)}`;
    const [first, second] = report.criteria;
    const failing = { ...first, tests: [{ name: "compiles", passed: false, output }] } as typeof first;
    const bytes = await studentPdf({ ...report, criteria: [failing, second] as typeof report.criteria }, { at });
    const { items } = await (
      await (await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise).getPage(1)
    ).getTextContent();
    const texts = items.flatMap((item) =>
      "str" in item ? [{ text: item.str, x: item.transform[4], y: item.transform[5] }] : [],
    );
    const line = (start: string) => texts.find(({ text }) => text.trimStart().startsWith(start));
    expect(line("a.c:3")?.y).toBeGreaterThan(line("return")?.y);
    // The four spaces before the number are kept, in a font with letters of equal width.
    expect((line("return")?.x - line("a.c:3")?.x) / (line("|")?.x - line("3")?.x)).toBeCloseTo(12 / 2, 3);
    const long = texts.filter(({ text }) => /^y+$/.test(text));
    expect(long.length).toBeGreaterThan(2);
    expect(long.map(({ text }) => text.length).reduce((sum, one) => sum + one)).toBe(300);
  });

  it("states on the first page that an unreleased grade is a draft", async () => {
    expect((await read(await studentPdf({ ...reportOf("Ada"), draft: true }, { at }))).text).toMatch(
      /^DRAFT - not released/,
    );
    expect((await read(await studentPdf(reportOf("Ada"), { at }))).text).not.toMatch("DRAFT");
  });

  it("writes a letter without a font, and an invisible letter, as its code point", async () => {
    const { text } = await read(await studentPdf(reportOf("శ్రీ"), { at }));
    expect(text).toMatch("⟨c36⟩");
    expect(text).toMatch("⟨202e⟩");
  });

  it("continues over pages, and has the same bytes for the same report", async () => {
    const long = {
      ...reportOf("Ada"),
      nextSteps: Array.from({ length: 200 }, (_, index) => `Step ${index} ${"word ".repeat(20)}`),
    };
    const bytes = await studentPdf(long, { at });
    expect((await read(bytes)).pages).toBeGreaterThan(3);
    expect((await studentPdf(long, { at })).equals(bytes)).toBe(true);
  });

  it("accepts a word wider than the page", async () => {
    const wide = { ...reportOf("Ada"), nextSteps: ["x".repeat(5000)] };
    expect((await read(await studentPdf(wide, { at }))).text.replaceAll(/[^x]/g, "").length).toBeGreaterThanOrEqual(
      5000,
    );
  });
});
