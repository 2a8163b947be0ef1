import { describe, expect, it } from "vitest";
import { criteria, gradeOf } from "../testing-sheet.ts";
import { type ReportLanguage, reportLanguage, reportTexts, reportWriter } from "./report-texts.ts";
import { studentHtml } from "./student-html.ts";
import { studentMarkdown } from "./student-markdown.ts";
import { reportFor } from "./student-report.ts";

const languages = Object.keys(reportTexts) as ReportLanguage[];

describe("the texts of student reports", () => {
  it.each(languages)("exist completely, with every placeholder, in %s", (language) => {
    expect(Object.keys(reportTexts[language]).sort()).toEqual(Object.keys(reportTexts.en).sort());
    for (const [key, text] of Object.entries(reportTexts[language])) {
      const places = (one: string) => (one.match(/\{\w+\}/g) ?? []).sort();
      expect(places(text), key).toEqual(places(reportTexts.en[key as keyof typeof reportTexts.en]));
      expect(text.trim(), key).not.toBe("");
    }
  });

  it.each([
    ["de", "de"],
    ["de-AT", "de"],
    ["de_CH", "de"],
    ["Deutsch", "de"],
    ["GERMAN", "de"],
    ["fr-CA", "fr"],
    ["Français", "fr"],
    ["Franc\u0327ais", "fr"],
    ["es-MX", "es"],
    ["español", "es"],
    ["en", "en"],
    ["destroy", "en"],
    ["ja", "en"],
    ["", "en"],
    [null, "en"],
    [undefined, "en"],
  ] as const)("treat the language %s as %s", (wish, language) => {
    expect(reportLanguage(wish)).toBe(language);
  });

  it("write numbers, dates and durations in the style of the language", () => {
    const shown = languages.map((language) => {
      const { points, date, duration } = reportWriter(language);
      return [points(3.25), date("2026-11-03T17:05:00Z"), duration(25.5 * 3_600_000), duration(30_000)].map((one) =>
        one?.replaceAll("\u00a0", " "),
      );
    });
    expect(shown).toEqual([
      ["3.25", "3 November 2026 at 17:05 UTC", "1 day 1 hour", "1 minute"],
      ["3,25", "3. November 2026 um 17:05 UTC", "1 Tag 1 Stunde", "1 Minute"],
      ["3,25", "3 novembre 2026 à 17:05 UTC", "1 jour 1 heure", "1 minute"],
      ["3,25", "3 de noviembre de 2026 a las 17:05 UTC", "1 día 1 hora", "1 minuto"],
    ]);
    expect(reportWriter("de").date("soon")).toBeNull();
  });

  it.each(languages.filter((language) => language !== "en"))(
    "contain no English of ours in another language: %s",
    (language) => {
      const grade = gradeOf({ is: "graded" }, [4.5, 3], {
        penalty: { points: 1, why: "1 day late, 10 %" },
        total: 6.5,
      });
      const made = reportFor({
        title: "T",
        student: "S",
        grade,
        criteria: criteria.map((one) => ({ ...one, title: "K" })),
        moment: { afterDueDate: true, published: true },
        reviewer: "Eva",
        draft: true,
        language,
        submitted: { at: "2026-11-03T17:05:00Z", attempt: 1, lateness: { is: "late", byMs: 1000 } },
      });
      const text = studentMarkdown(made) + studentHtml(made).replace(/<style>[\s\S]*<\/style>/, "");
      for (const word of [
        " of ",
        "points<",
        "Graded",
        "Reviewed",
        "DRAFT",
        "Comment written",
        "Deadline",
        "late",
        "Handed",
      ])
        expect(text).not.toMatch(new RegExp(word === "late" ? "\\blate\\b" : word));
      expect(text).toMatch("4,5");
      expect(studentHtml(made)).toMatch(`<html lang="${language}">`);
    },
  );
});
