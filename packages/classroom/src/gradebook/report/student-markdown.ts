/** Writes a student's report as Markdown. Texts by others appear in quotations and code blocks, and cannot leave them. */
import { codeBlock, markdown } from "./markup.ts";
import type { QuotedFile } from "./quoted-code.ts";
import { reportWriter } from "./report-texts.ts";
import type { ReportedCriterion, StudentReport } from "./student-report.ts";

const barWidth = 20;

export function studentMarkdown(report: StudentReport): string {
  const { say } = reportWriter(report.language);
  const out: string[] = [];
  if (report.draft) out.push(`> **${say("draft")}**`, "");
  out.push(`# ${markdown(report.title)}`, "", markdown(report.student), "");
  out.push(`**${markdown(report.result)}**${report.share === null ? "" : `  \n${bar(report.share)}`}`, "");
  if (report.reason !== null) out.push(`${say("reason")}:`, "", `> ${markdown(report.reason)}`, "");
  for (const { name, value } of report.facts) out.push(`- ${markdown(name)}: ${markdown(value)}`);
  if (report.facts.length > 0) out.push("");
  if (report.criteria.length > 0) {
    out.push(`| ${say("criterion")} | ${say("points")} | |`, "|---|---|---|");
    for (const { title, mark, share } of report.criteria)
      out.push(`| ${markdown(title)} | ${markdown(mark)} | ${share === null ? "" : bar(share)} |`);
    out.push("");
  }
  for (const criterion of report.criteria) out.push(...criterionLines(criterion, report));
  if (report.nextSteps.length > 0) {
    out.push(`## ${say("nextSteps")}`, "");
    const quoted = report.stepsBy === "model" ? "> " : "";
    if (report.stepsBy === "model") out.push(`${say("stepsOfModel")}:`, "");
    for (const step of report.nextSteps) out.push(`${quoted}- ${markdown(step)}`);
    out.push("");
  }
  if (report.files.length > 0) out.push(`## ${say("code")}`, "");
  for (const file of report.files) {
    out.push(markdown(say("lines", { file: file.path, count: file.count })), "");
    out.push(codeBlock(codeText(file, (count) => say("linesLeftOut", { count }))), "");
  }
  out.push("---", "", markdown(report.notice), "");
  return out.join("\n");
}

function criterionLines(criterion: ReportedCriterion, { language }: StudentReport): readonly string[] {
  const { say } = reportWriter(language);
  const { title, mark, level, summary, comment, evidence, tests } = criterion;
  const out = [`## ${markdown(title)}: ${markdown(mark)}${level === null ? "" : ` (${markdown(level)})`}`, ""];
  if (summary !== null) out.push(markdown(summary), "");
  if (comment !== null) {
    out.push(`${say(comment.by === "model" ? "commentOfModel" : "commentOfPerson")}:`, "");
    for (const line of paragraphs(comment.text)) out.push(`> ${markdown(line)}`, ">");
    out.splice(-1, 1, "");
  }
  for (const { file, line, quote } of evidence)
    out.push(`${markdown(say("quoteOf", { file, line }))}:`, "", codeBlock(quote), "");
  for (const { name, passed, output } of tests) {
    out.push(`- ${passed ? "✓" : "✗"} ${say(passed ? "passed" : "failed")}: ${markdown(name)}`);
    if (output !== "") out.push("", ...indent(`${say("testOutput")}:\n\n${codeBlock(output)}`), "");
  }
  if (tests.length > 0) out.push("");
  return out;
}

function paragraphs(text: string): readonly string[] {
  return text.split(/\n+/).filter((line) => line.trim() !== "");
}

function indent(text: string): readonly string[] {
  return text.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
}

function codeText({ lines, count }: QuotedFile, leftOut: (count: number) => string): string {
  const width = String(count).length;
  return lines
    .map((line) =>
      line.is === "left out"
        ? `  ${" ".repeat(width)} [${leftOut(line.count)}]`
        : `${line.marked ? "▶" : " "} ${String(line.number).padStart(width)} | ${line.text}`,
    )
    .join("\n");
}

function bar(share: number): string {
  const full = Math.round(share * barWidth);
  return "█".repeat(full) + "░".repeat(barWidth - full);
}
