/**
 * Writes feedback as plain text, for a platform with one text per student. Like a report, it quotes words of models and people with their
 * author. Empty: there is no total.
 */
import { reportWriter } from "./report-texts.ts";
import { type ReportInput, reportFor } from "./student-report.ts";

export function feedbackText(input: Pick<ReportInput, "grade" | "criteria" | "reviewer" | "language">): string {
  if (input.grade.total === null) return "";
  const moment = { afterDueDate: false, published: false };
  const report = reportFor({ ...input, title: "", student: "", moment });
  const { say } = reportWriter(report.language);
  const lines = report.criteria.flatMap(({ title, mark, summary, comment }) => {
    const author = comment?.by === "model" ? say("commentOfModel") : say("commentOfPerson");
    return [
      `${title}: ${mark}.${summary === null ? "" : ` ${summary}`}`,
      ...(comment === null ? [] : [`${author}: “${oneLine(comment.text)}”`]),
    ];
  });
  for (const { name, value } of report.facts) lines.push(`${name}: ${value}.`);
  if (report.nextSteps.length > 0) {
    const author = report.stepsBy === "model" ? ` (${say("stepsOfModel")})` : "";
    lines.push(`${say("nextSteps")}${author}:`, ...report.nextSteps.map((step) => `- ${oneLine(step)}`));
  }
  return lines.join("\n");
}

/** A text by others stays on one line, so it cannot imitate a line of ours. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
