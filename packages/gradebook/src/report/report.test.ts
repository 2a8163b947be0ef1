import fc from "fast-check";
// @ts-expect-error It brings no types.
import { JSDOM } from "jsdom";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";
import { criteria, gradeOf, row, sheetOf } from "../testing-sheet.ts";
import { classHtml } from "./class-report.ts";
import { codeBlock, html, markdown } from "./markup.ts";
import { reportFor, studentHtml, studentMarkdown } from "./student-report.ts";

const hidden = { afterDueDate: false, published: false };
const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![p](http://evil/p.png) \u202e # h\n\n# heading\n| a | b |\n\`\`\`\`\`\n</pre>`;
const grade = gradeOf({ is: "graded" }, [6, 3], {
  penalty: { points: 1, why: evil },
  total: 8,
  nextSteps: [evil],
  flags: [{ kind: "injection", message: evil, file: evil, line: 3 }],
  criteria: [
    {
      is: "scored",
      id: "tests",
      by: "tests",
      points: 6,
      level: null,
      comment: evil,
      evidence: [],
      confidence: null,
      tests: [
        { name: "seen", passed: false, weight: 1, share: 0, message: evil, visibility: "visible" },
        { name: "secret test", passed: false, weight: 1, share: 0, message: "secret message", visibility: "hidden" },
      ],
      notes: [],
    },
    {
      is: "scored",
      id: "names",
      by: "llm",
      points: 3,
      level: "fair",
      comment: "ok",
      evidence: [{ file: evil, line: 2, quote: evil }],
      confidence: 0.9,
      tests: [],
      notes: [],
    },
  ],
});
const report = reportFor({ title: "Sheet 3", student: evil, grade, criteria, moment: hidden, reviewer: evil });
/** Nothing that runs, loads or leads anywhere; no element that is not ours. */
const inert = (text: string) => {
  const { document } = new JSDOM(text).window;
  expect(document.querySelectorAll("script, img, iframe, object, embed, link, a, form, input, base").length).toBe(0);
  for (const element of document.querySelectorAll("*"))
    for (const name of element.getAttributeNames()) expect(name).not.toMatch(/^on|^href$|^src$|^action$/);
  expect(document.querySelector("meta[http-equiv]")?.getAttribute("content")).toMatch("default-src 'none'");
  return document;
};

describe("a student's report", () => {
  it("says result, why, where and what next, and nothing of hidden tests", () => {
    for (const text of [studentMarkdown(report), studentHtml(report)]) {
      expect(text).toMatch("8 of 10 points");
      expect(text).toMatch("3 of 4");
      expect(text).toMatch("seen");
      expect(text).not.toMatch("secret");
    }
    expect(
      studentHtml(
        reportFor({
          title: "t",
          student: "s",
          grade,
          criteria,
          moment: { afterDueDate: true, published: true },
          reviewer: null,
        }),
      ),
    ).not.toMatch("secret");
  });

  it("says at its top that an unreleased grade is a draft, and says nothing of it after release", () => {
    for (const form of [studentMarkdown, studentHtml]) {
      expect(form({ ...report, draft: true })).toMatch("DRAFT - not released");
      expect(form(report)).not.toMatch("DRAFT");
    }
  });

  it("is inert as HTML, whatever students and models wrote", () => {
    const document = inert(studentHtml(report));
    expect(document.querySelectorAll("section")).toHaveLength(3);
    expect(document.querySelector("pre")?.textContent).toMatch("<script>alert(1)</script>");
    expect(document.body.innerHTML).not.toMatch("\u202e");
  });

  it("is inert as Markdown: our headings and no others, no links, no pictures, no HTML", () => {
    const nodes: Record<string, number> = {};
    const visit = (node: { type: string; children?: unknown[] }) => {
      nodes[node.type] = (nodes[node.type] ?? 0) + 1;
      for (const child of (node.children ?? []) as { type: string }[]) visit(child);
    };
    visit(fromMarkdown(studentMarkdown(report)));
    expect(nodes).toMatchObject({ heading: 4, code: 1 });
    expect(nodes).not.toHaveProperty("link");
    expect(nodes).not.toHaveProperty("image");
    expect(nodes).not.toHaveProperty("html");
  });

  it.each([
    [gradeOf({ is: "ungradable", why: "roman.js is missing" }, [null, null]), /Could not be graded: roman/],
    [gradeOf({ is: "grader error", why: "our secret trouble" }, [null, null]), /fault is ours/],
    [gradeOf({ is: "needs human", why: ["injection"] }, [6, null]), /A person will look/],
  ])("without a grade says so, and shows no number of points", (given, says) => {
    const text = studentMarkdown(
      reportFor({ title: "t", student: "s", grade: given, criteria, moment: hidden, reviewer: null }),
    );
    expect(text).toMatch(says);
    expect(text).not.toMatch(/\d of 10 points|secret trouble/);
  });
});

describe("a class report", () => {
  const input = {
    sheet: sheetOf([
      row("1", "Ada", gradeOf({ is: "graded" }, [6, 4])),
      row("2", evil, grade),
      row("3", "Zoë", gradeOf({ is: "graded" }, [0, 0])),
      row("4", "Wei", gradeOf({ is: "needs human", why: ["x"] }, [6, null])),
      row("5", "Max", null),
    ]),
    at: "17 Nov 2026",
    work: new Map([
      ["1", { dollars: 0.012, ms: 4200 }],
      ["2", { dollars: null, ms: 130_000 }],
    ]),
    unmatched: [evil],
    similar: [{ one: "Ada", other: evil, similarity: 0.87 }],
  };

  it("is one inert file with plots that say in words what they show", () => {
    const document = inert(classHtml(input));
    const plots = [...document.querySelectorAll("svg[role=img]")].map((svg) => svg.getAttribute("aria-label"));
    expect(plots).toHaveLength(4);
    expect(plots[0]).toBe("Students by points: 0–1 1, 1–2 0, 2–3 0, 3–4 0, 4–5 0, 5–6 0, 6–7 0, 7–8 0, 8–9 1, 9–10 1");
    expect(plots[1]).toMatch(/^Mean share of the points: Names say what things are 58 %, All tests pass 75 %$/);
    expect(document.querySelectorAll(".tiles li b")[0]?.textContent).toBe("3 of 5");
    const last = [...document.querySelectorAll("table")].at(-1);
    expect(last?.querySelectorAll("tbody tr")).toHaveLength(5);
    expect(last?.querySelectorAll("tbody tr")[4]?.textContent).toBe("Maxnothing handed in–––");
    expect(document.body.textContent).toMatch("$0.0120 and 1 unknown");
    expect(document.body.innerHTML).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("of nothing is still a report", () => {
    inert(classHtml({ sheet: sheetOf([]), at: "today", work: new Map(), unmatched: [], similar: [] }));
  });
});

describe("markup", () => {
  it("keeps any text text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."<>&\"'`*_[]()#|!\\-+1. \nab:/", "http://x", "\u202e", "\u0000") }),
        (text) => {
          const document = new JSDOM(`<p title="${html(text)}">${html(text)}</p>`).window.document;
          expect(document.body.children).toHaveLength(1);
          const types = new Set<string>();
          const visit = (node: { type: string; children?: unknown[] }) => {
            types.add(node.type);
            for (const child of (node.children ?? []) as { type: string }[]) visit(child);
          };
          visit(fromMarkdown(`a ${markdown(text)}\n\n${codeBlock(text)}\n\nb`));
          expect([...types].filter((type) => !["root", "paragraph", "text", "code", "break"].includes(type))).toEqual(
            [],
          );
        },
      ),
    );
  });
});

it("a grade without a total is nobody's zero", () => {
  const open = { ...grade, points: null, total: null };
  const told = reportFor({ title: "Sheet 3", student: "A", grade: open, criteria, moment: hidden, reviewer: null });
  expect(told.result).toBe("Not graded yet. A person will look at it.");
});
