/** Writes a student's report as one HTML file without scripts. Texts by others appear in quotations and `pre`, as text. */
import { html } from "./markup.ts";
import { page } from "./page.ts";
import type { QuotedFile } from "./quoted-code.ts";
import { type ReportWriter, reportWriter } from "./report-texts.ts";
import type { ReportedCriterion, StudentReport } from "./student-report.ts";

export function studentHtml(report: StudentReport): string {
  const { say } = reportWriter(report.language);
  const { draft, title, student, result, reason, share, facts, criteria, files, nextSteps, stepsBy } = report;
  const steps = `<ul>${nextSteps.map((step) => `<li>${html(step)}</li>`).join("")}</ul>`;
  const body = [
    `<main>${draft ? `<p class="draft">${html(say("draft"))}</p>` : ""}<h1>${html(title)}</h1>`,
    `<p><bdi>${html(student)}</bdi></p>`,
    `<p class="result">${html(result)}</p>${share === null ? "" : bar(share)}`,
    reason === null ? "" : `<p>${html(say("reason"))}:</p><blockquote>${html(reason)}</blockquote>`,
    facts.length === 0
      ? ""
      : `<dl>${facts.map(({ name, value }) => `<dt>${html(name)}</dt><dd>${html(value)}</dd>`).join("")}</dl>`,
    criteria.length === 0
      ? ""
      : `<table class="points"><thead><tr><th>${html(say("criterion"))}</th><th>${html(say("points"))}</th><th></th></tr></thead><tbody>${criteria.map((one) => `<tr><td>${html(one.title)}</td><td>${html(one.mark)}</td><td>${one.share === null ? "" : bar(one.share)}</td></tr>`).join("")}</tbody></table>`,
    ...criteria.map((criterion) => criterionHtml(criterion, say)),
    nextSteps.length === 0
      ? ""
      : `<section><h2>${html(say("nextSteps"))}</h2>${stepsBy === "model" ? `<p class="author">${html(say("stepsOfModel"))}:</p><blockquote>${steps}</blockquote>` : steps}</section>`,
    files.length === 0
      ? ""
      : `<section><h2>${html(say("code"))}</h2>${files.map((file) => fileHtml(file, say)).join("")}</section>`,
    `<footer>${html(report.notice)}</footer></main>`,
  ];
  return page(`${title}: ${student}`, body.filter((part) => part !== "").join("\n"), { language: report.language });
}

function criterionHtml(
  { title, mark, level, summary, comment, evidence, tests }: ReportedCriterion,
  say: ReportWriter["say"],
): string {
  const author = comment === null ? "" : say(comment.by === "model" ? "commentOfModel" : "commentOfPerson");
  const parts = [
    `<h2>${html(title)} <span class="mark">${html(mark)}${level === null ? "" : `, ${html(level)}`}</span></h2>`,
    summary === null ? "" : `<p>${html(summary)}</p>`,
    comment === null
      ? ""
      : `<p class="author">${html(author)}:</p><blockquote class="words">${html(comment.text)}</blockquote>`,
    ...evidence.map(
      ({ file, line, quote }) =>
        `<figure><figcaption>${html(say("quoteOf", { file, line }))}:</figcaption><pre>${html(quote)}</pre></figure>`,
    ),
    tests.length === 0
      ? ""
      : `<ul class="tests">${tests.map(({ name, passed, output }) => `<li class="${passed ? "passed" : "failed"}"><b>${passed ? "✓" : "✗"} ${html(say(passed ? "passed" : "failed"))}</b>: ${html(name)}${output === "" ? "" : `<p class="author">${html(say("testOutput"))}:</p><pre>${html(output)}</pre>`}</li>`).join("")}</ul>`,
  ];
  return `<section>\n${parts.filter((part) => part !== "").join("\n")}\n</section>`;
}

function fileHtml({ path, count, lines }: QuotedFile, say: ReportWriter["say"]): string {
  const drawn = lines.map((line) =>
    line.is === "left out"
      ? `<span class="gap">${html(say("linesLeftOut", { count: line.count }))}</span>`
      : `<span class="line${line.marked ? " quoted" : ""}"><span class="number">${line.marked ? "▶ " : ""}${line.number}</span>${html(line.text)}\n</span>`,
  );
  return `<figure><figcaption>${html(say("lines", { file: path, count }))}</figcaption><pre class="code">${drawn.join("")}</pre></figure>`;
}

/** The number is beside the bar, so a reader who cannot see it misses nothing. */
function bar(share: number): string {
  return `<span class="track" aria-hidden="true"><span style="width:${Math.round(share * 1000) / 10}%"></span></span>`;
}
