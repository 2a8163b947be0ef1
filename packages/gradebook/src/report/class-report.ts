/** What the teacher reads: how the class did, where it struggled, what wants a look, what it cost. One file that needs nothing else. */
import { formatPoints, type GradeSheet, statusOf } from "../grade-sheet.ts";
import { html } from "./markup.ts";
import { type Bar, barList, histogram } from "./plot.ts";
import { page } from "./student-report.ts";

export interface ClassReportInput {
  readonly sheet: GradeSheet;
  /** When it was made, as it shall be shown. */
  readonly at: string;
  /** Per student key: dollars, null where a price is unknown; milliseconds from start to grade. */
  readonly work: ReadonlyMap<string, { readonly dollars: number | null; readonly ms: number | null }>;
  /** Files of nobody. */
  readonly unmatched: readonly string[];
  /** Pairs to look at; never a judgement. */
  /** Works that were too long, or too many, to be compared as a whole and with all others. */
  readonly comparedPartly?: readonly string[];
  readonly similar: readonly { readonly one: string; readonly other: string; readonly similarity: number }[];
}

export function classHtml({ sheet, at, work, unmatched, similar, comparedPartly = [] }: ClassReportInput): string {
  const { rows, criteria, most, title } = sheet;
  const totals = rows.flatMap(({ grade }) => (grade?.total == null ? [] : [grade.total]));
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(statusOf(row), (counts.get(statusOf(row)) ?? 0) + 1);
  const spent = [...work.values()].flatMap(({ dollars }) => (dollars === null ? [] : [dollars]));
  const unknown = [...work.values()].filter(({ dollars }) => dollars === null).length;
  const times = [...work.values()].flatMap(({ ms }) => (ms === null ? [] : [ms])).sort((one, other) => one - other);
  const tiles = [
    [`${totals.length} of ${rows.length}`, "graded"],
    ...[...counts].filter(([status]) => status !== "graded").map(([status, count]) => [String(count), status]),
    [totals.length === 0 ? "–" : `${formatPoints(mean(totals))} of ${formatPoints(most)}`, "mean"],
    [totals.length === 0 ? "–" : formatPoints(median(totals)), "median"],
    [`${dollars(spent.reduce((sum, one) => sum + one, 0))}${unknown === 0 ? "" : ` and ${unknown} unknown`}`, "cost"],
    [times.length === 0 ? "–" : duration(median(times)), "median time"],
  ];
  const flags = rows.flatMap(({ student, grade }) => (grade?.flags ?? []).map((flag) => ({ student, flag })));
  return page(
    `${title}: class report`,
    `<main><h1>${html(title)}</h1>
<p>Class report, ${html(at)}. Grades are proposals until a person releases them.</p>
<ul class="tiles">${tiles.map(([value = "", name = ""]) => `<li><b>${html(value)}</b>${html(name)}</li>`).join("")}</ul>
<section><h2>Points</h2>${totals.length === 0 ? "<p>Nothing is graded yet.</p>" : histogram("Students by points", bins(totals, most))}</section>
<section><h2>Criteria, hardest first</h2>${barList("Mean share of the points", difficulty(sheet), 1)}</section>
${section(
  "Wants a look",
  flags.length === 0
    ? "<p>No flags.</p>"
    : table(
        ["Student", "What", "Why", "Where"],
        flags.map(({ student, flag }) => [
          student.name,
          flag.kind,
          flag.message,
          flag.file === undefined ? "" : `${flag.file}${flag.line === undefined ? "" : `:${flag.line}`}`,
        ]),
      ),
)}
${
  similar.length + comparedPartly.length === 0
    ? ""
    : section(
        "Similar pairs",
        `<p>To be looked at by a person. Alike is not copied.</p>${table(
          ["One", "Other", "Alike"],
          similar.map(({ one, other, similarity }) => [one, other, `${Math.round(similarity * 100)} %`]),
        )}${
          comparedPartly.length === 0
            ? ""
            : `<p>Compared in part only, for their length or number: ${html(comparedPartly.join(", "))}.</p>`
        }`,
      )
}
${unmatched.length === 0 ? "" : section("Files of nobody", `<ul>${unmatched.map((name) => `<li>${html(name)}</li>`).join("")}</ul>`)}
${
  spent.length === 0
    ? ""
    : section(
        "Cost, most expensive first",
        barList(
          "Cost",
          mostOf(sheet, work, ({ dollars: cost }) => cost, dollars),
        ),
      )
}
${
  times.length === 0
    ? ""
    : section(
        "Time, longest first",
        barList(
          "Time",
          mostOf(sheet, work, ({ ms }) => ms, duration),
        ),
      )
}
${section("Everybody", studentTable(sheet))}
<footer>${criteria.length} criteria, ${formatPoints(most)} points. Only graded work has a number; the rest says why it has none.</footer></main>`,
  );
}

function section(title: string, content: string): string {
  return `<section><h2>${html(title)}</h2>${content}</section>`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${html(cell)}</${tag}>`).join("");
  return `<div class="wide" tabindex="0"><table><thead><tr>${cells(header, "th")}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("")}</tbody></table></div>`;
}

function studentTable(sheet: GradeSheet): string {
  const rows = sheet.rows.map((row) => {
    const marks = sheet.criteria.map(({ id }) => {
      const found = row.grade?.criteria.find((one) => one.id === id);
      return `<td class="number">${found?.is === "scored" ? formatPoints(found.points) : "–"}</td>`;
    });
    const total = row.grade?.total;
    const flags = row.grade?.flags.length ?? 0;
    return `<tr><td>${html(row.student.name)}</td><td>${html(statusOf(row))}${flags === 0 ? "" : ` <span class="warn">⚑ ${flags}</span>`}</td><td class="number">${total == null ? "–" : formatPoints(total)}</td>${marks.join("")}</tr>`;
  });
  const heads = sheet.criteria.map(({ id }) => `<th class="number">${html(id)}</th>`).join("");
  return `<div class="wide" tabindex="0"><table><thead><tr><th>Student</th><th>Status</th><th class="number">Total</th>${heads}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** At most ten, of a round width; the last takes the full points in. */
function bins(totals: readonly number[], most: number): Bar[] {
  const width = [0.5, 1, 2, 5, 10, 20, 50, 100, 1000].find((one) => most / one <= 10) ?? most / 10;
  const count = Math.max(1, Math.ceil(most / width));
  const found = Array.from({ length: count }, () => 0);
  for (const total of totals) {
    const at = Math.min(count - 1, Math.floor(total / width + 1e-9));
    found[at] = (found[at] ?? 0) + 1;
  }
  return found.map((value, index) => ({
    label: `${formatPoints(index * width)}–${formatPoints(Math.min(most, (index + 1) * width))}`,
    value,
    shown: String(value),
  }));
}

function difficulty({ criteria, rows }: GradeSheet): Bar[] {
  return criteria
    .map(({ id, title, points }) => {
      const marks = rows.flatMap(({ grade }) => {
        const found = grade?.criteria.find((one) => one.id === id);
        return found?.is === "scored" ? [found.points] : [];
      });
      const share =
        marks.length === 0 || points === 0 ? 0 : points > 0 ? mean(marks) / points : 1 - mean(marks) / points;
      return { label: title, value: share, shown: marks.length === 0 ? "not graded" : `${Math.round(share * 100)} %` };
    })
    .sort((one, other) => one.value - other.value);
}

type Work = ClassReportInput["work"] extends ReadonlyMap<string, infer T> ? T : never;

function mostOf(
  sheet: GradeSheet,
  work: ClassReportInput["work"],
  of: (one: Work) => number | null,
  show: (value: number) => string,
): Bar[] {
  return sheet.rows
    .flatMap(({ student }) => {
      const found = work.get(student.key);
      const value = found === undefined ? null : of(found);
      return value === null ? [] : [{ label: student.name, value, shown: show(value) }];
    })
    .sort((one, other) => other.value - one.value)
    .slice(0, 12);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function dollars(value: number): string {
  return value === 0 ? "$0" : value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
