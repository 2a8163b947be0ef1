/** The class report in a browser, opened from a file: only its own script runs, and 2,000 students stay usable. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { classHtml, type GradeSheet } from "@markmill/classroom/gradebook";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser } from "../support/chromium.ts";

const criteria = Array.from({ length: 8 }, (_, index) => ({ id: `c${index}`, title: `Criterion ${index}`, points: 2 }));
const words = '<script>document.title = "taken"</script><img src=x onerror=\'document.title = "taken"\'>';
const sheet: GradeSheet = {
  title: "Sheet 3",
  most: 16,
  criteria,
  rows: Array.from({ length: 2000 }, (_, index) => ({
    student: { key: String(index), name: index === 7 ? words : `Student ${index}` },
    feedback: "",
    grade: {
      outcome: { is: "graded" },
      criteria: criteria.map(({ id }) => ({
        is: "scored",
        id,
        by: "tests",
        points: index % 3,
        level: null,
        comment: "",
        evidence: [],
        confidence: null,
        tests: [],
        notes: [],
      })),
      points: index % 17,
      most: 16,
      penalty: null,
      total: index % 17,
      flags: [],
      nextSteps: [],
    },
  })),
};

let browser: Awaited<ReturnType<typeof openBrowser>> = null;
beforeAll(async () => {
  browser = await openBrowser("the class report in a browser");
}, 150_000);
afterAll(async () => {
  await browser?.close();
});

it("the class report sorts and searches 2,000 students from a file, by keyboard, and runs no foreign script", async ({
  skip,
}) => {
  if (browser === null) return skip();
  const file = join(await mkdtemp(join(tmpdir(), "report-")), "class-report.html");
  const links = new Map([["3", "students/3.html"]]);
  await writeFile(file, classHtml({ sheet, at: "today", work: new Map(), links, unmatched: [words], similar: [] }));
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) complaints.push(request.url());
  });
  await page.goto(`file://${file}`);
  expect(await page.textContent("#count")).toBe("2000 of 2000 students");
  await page.getByRole("button", { name: "Total" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  expect(await page.getAttribute("th[aria-sort]", "aria-sort")).toBe("descending");
  expect(await page.textContent("#students tbody tr:first-child td:nth-child(3)")).toBe("16");
  await page.getByRole("searchbox").focus();
  await page.keyboard.type("student 199");
  expect(await page.textContent("#count")).toBe("12 of 2000 students");
  expect(await page.locator("#students tbody tr:visible").count()).toBe(12);
  expect(await page.title()).toBe("Sheet 3: class report");
  // The page is as wide as a telephone. Only tables scroll.
  const [content, view] = await Promise.all([
    page.evaluate("document.documentElement.scrollWidth"),
    page.evaluate("document.documentElement.clientWidth"),
  ]);
  expect(content).toBe(view);
  expect(complaints).toEqual([]);
  await page.close();
}, 120_000);
