/**
 * What one student reads: result, why, quotations with file and line, what to do next. Made from an object that is redacted already:
 * hidden tests and guidance do not come this far.
 */
import { type Grade, isVisible, type Moment } from "@markmill/grading";
import { formatPoints } from "../grade-sheet.ts";
import { codeBlock, html, markdown } from "./markup.ts";

export interface StudentReport {
  readonly title: string;
  readonly student: string;
  readonly result: string;
  readonly penalty: string | null;
  readonly criteria: readonly ReportedCriterion[];
  readonly nextSteps: readonly string[];
  readonly notice: string;
  /** The grade is not released: every form of the report says so at its top. */
  readonly draft: boolean;
}

export const draftMark = "DRAFT - not released";

interface ReportedCriterion {
  readonly title: string;
  /** "3 of 4", or why there is no mark. */
  readonly mark: string;
  readonly level: string | null;
  readonly comment: string;
  readonly evidence: readonly { readonly place: string; readonly quote: string }[];
  readonly tests: readonly { readonly name: string; readonly passed: boolean; readonly message: string }[];
}

export interface ReportInput {
  readonly title: string;
  readonly student: string;
  readonly grade: Grade;
  readonly criteria: readonly { readonly id: string; readonly title: string; readonly points: number }[];
  /** Decides which tests the student may see. */
  readonly moment: Moment;
  /** Who looked at it; null: nobody yet. */
  readonly reviewer: string | null;
  /** Default: false. */
  readonly draft?: boolean;
}

export function reportFor({
  title,
  student,
  grade,
  criteria,
  moment,
  reviewer,
  draft = false,
}: ReportInput): StudentReport {
  const reported = criteria.map(({ id, title: name, points }): ReportedCriterion => {
    const found = grade.criteria.find((one) => one.id === id);
    if (found?.is !== "scored") {
      return {
        title: name,
        mark: `not graded (of ${formatPoints(points)})`,
        level: null,
        comment: "",
        evidence: [],
        tests: [],
      };
    }
    const shown = found.tests.filter(({ visibility }) => isVisible(visibility, moment));
    return {
      title: name,
      mark: `${formatPoints(found.points)} of ${formatPoints(points)}`,
      level: found.level,
      comment: found.comment,
      evidence: found.evidence.map(({ file, line, quote }) => ({ place: `${file}:${line}`, quote })),
      tests: shown.map(({ name: test, passed, message }) => ({ name: test, passed, message })),
    };
  });
  return {
    title,
    student,
    result: resultOf(grade),
    penalty:
      grade.penalty === null || grade.total === null
        ? null
        : `${formatPoints(grade.penalty.points)} points less: ${grade.penalty.why}`,
    criteria: grade.outcome.is === "ungradable" || grade.outcome.is === "grader error" ? [] : reported,
    nextSteps: grade.nextSteps,
    notice: `Graded with the help of AI, ${reviewer === null ? "not yet reviewed by a person" : `reviewed by ${reviewer}`}.`,
    draft,
  };
}

function resultOf({ outcome, total, most }: Grade): string {
  switch (outcome.is) {
    case "graded":
      // Without a total nobody has a zero.
      if (total === null) return "Not graded yet. A person will look at it.";
      return `${formatPoints(total)} of ${formatPoints(most)} points`;
    case "ungradable":
      return `Could not be graded: ${outcome.why}`;
    case "grader error":
      return "Not graded yet. The fault is ours, and you have lost nothing.";
    case "needs human":
      return "Not graded yet. A person will look at it.";
  }
}

export function studentMarkdown(report: StudentReport): string {
  const mark = report.draft ? [`> **${draftMark}**`, ""] : [];
  const out = [
    ...mark,
    `# ${markdown(report.title)}`,
    "",
    markdown(report.student),
    "",
    `**${markdown(report.result)}**`,
    "",
  ];
  if (report.penalty !== null) out.push(markdown(report.penalty), "");
  for (const { title, mark, level, comment, evidence, tests } of report.criteria) {
    out.push(`## ${markdown(title)}: ${markdown(mark)}${level === null ? "" : ` (${markdown(level)})`}`, "");
    if (comment !== "") out.push(markdown(comment), "");
    for (const { place, quote } of evidence) out.push(`${markdown(place)}`, "", codeBlock(quote), "");
    for (const { name, passed, message } of tests)
      out.push(
        `- ${passed ? "passed" : "failed"}: ${markdown(name)}${passed || message === "" ? "" : ` (${markdown(message)})`}`,
      );
    if (tests.length > 0) out.push("");
  }
  if (report.nextSteps.length > 0)
    out.push("## Next", "", ...report.nextSteps.map((step) => `- ${markdown(step)}`), "");
  out.push("---", "", markdown(report.notice), "");
  return out.join("\n");
}

export function studentHtml(report: StudentReport): string {
  const criteria = report.criteria.map(
    ({ title, mark, level, comment, evidence, tests }) => `<section>
<h2>${html(title)} <span class="mark">${html(mark)}${level === null ? "" : `, ${html(level)}`}</span></h2>
${comment === "" ? "" : `<p>${html(comment)}</p>`}
${evidence.map(({ place, quote }) => `<figure><figcaption><code>${html(place)}</code></figcaption><pre>${html(quote)}</pre></figure>`).join("\n")}
${tests.length === 0 ? "" : `<ul>${tests.map(({ name, passed, message }) => `<li>${passed ? "✓ passed" : "✗ failed"}: ${html(name)}${passed || message === "" ? "" : `<br><code>${html(message)}</code>`}</li>`).join("")}</ul>`}
</section>`,
  );
  const next =
    report.nextSteps.length === 0
      ? ""
      : `<section><h2>Next</h2><ul>${report.nextSteps.map((step) => `<li>${html(step)}</li>`).join("")}</ul></section>`;
  return page(
    `${report.title}: ${report.student}`,
    `<main>${report.draft ? `<p class="draft">${draftMark}</p>` : ""}<h1>${html(report.title)}</h1>
<p>${html(report.student)}</p>
<p class="result">${html(report.result)}</p>
${report.penalty === null ? "" : `<p>${html(report.penalty)}</p>`}
${criteria.join("\n")}
${next}
<footer>${html(report.notice)}</footer></main>`,
  );
}

/** One file, without scripts, and forbidden to load or run anything. */
export function page(title: string, body: string, language = "en"): string {
  return `<!doctype html>
<html lang="${html(language)}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title>
<style>
:root { color-scheme: light dark; --line: #8886; --bar: #2a6fb0; --soft: #8882; --warn: #a15c00; }
@media (prefers-color-scheme: dark) { :root { --bar: #6db0ee; --warn: #f0b05a; } }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 1.6rem 0 .4rem; }
.draft { border: 2px solid var(--warn); color: var(--warn); font-weight: 700; padding: .3rem .8rem; border-radius: 4px; }
.mark { font-weight: 400; opacity: .8; } .result { font-size: 1.3rem; font-weight: 600; }
pre { background: var(--soft); padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; margin: .2rem 0 .8rem; border-radius: 4px; }
figure { margin: 0; } table { border-collapse: collapse; width: 100%; } caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .9rem; } .tiles b { display: block; font-size: 1.4rem; }
svg { max-width: 100%; height: auto; display: block; } svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
svg .bar { fill: var(--bar); } svg .axis { stroke: var(--line); } .warn { color: var(--warn); font-weight: 600; }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .6rem; opacity: .8; }
.wide { overflow-x: auto; overflow-wrap: normal; } .wide td { min-width: 3ch; }
@media (max-width: 42rem) { main { padding: 1rem; } .wide svg { max-width: none; } .wide td:first-child { min-width: 9ch; } .wide td { min-width: 4ch; } }
@media print { main { max-width: none; } section { break-inside: avoid; } section:has(tr) { break-inside: auto; } tr, h2 { break-inside: avoid; }
  h2 { break-after: avoid; } .wide { overflow: visible; } svg { print-color-adjust: exact; } }
</style></head>
<body>${body}</body></html>
`;
}
