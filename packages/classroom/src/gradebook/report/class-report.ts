/**
 * Writes the teacher's report: the results of the class, the criterion and test that cost most points, the submissions that need a human
 * decision, and at the end the cost. It is one file that loads nothing. Without scripts it is complete; with them its table can be sorted
 * and searched.
 *
 * C1  Words of students, models and tests are text, never markup. Links lead to the students' reports beside this file, or to places in it.
 * C2  A row without a grade gives the reason.
 * C3  The row of a student names the student's submissions that do not count.
 */
import { meanPoints, scalePoints, sumPoints } from "@markmill/grading";
import { formatPoints, type GradeRow, type GradeSheet, statusOf } from "../grade-sheet.ts";
import { html } from "./markup.ts";
import { page } from "./page.ts";
import { type Bar, barList, histogram } from "./plot.ts";
import { tableScript } from "./table-script.ts";

export interface ClassReportInput {
  readonly sheet: GradeSheet;
  /** The time of writing, as shown in the report. */
  readonly at: string;
  /** Per student key: dollars, null if a price is unknown; milliseconds from start to grade. */
  readonly work: ReadonlyMap<string, { readonly dollars: number | null; readonly ms: number | null }>;
  /** Per student key: the path of the student's report, relative to this file. */
  readonly links?: ReadonlyMap<string, string>;
  /** Per student key: submissions of the student that do not count, as shown in the report. */
  readonly uncounted?: ReadonlyMap<string, readonly string[]>;
  /** Files that belong to no student. */
  readonly unmatched: readonly string[];
  /** Submissions with exactly the same content, each shown by its people. */
  readonly identical?: readonly (readonly string[])[];
  /** Submissions that were compared only in part, because they are too long or too many. */
  readonly comparedPartly?: readonly string[];
  /** Pairs for a person to compare. They are not a judgement. */
  readonly similar: readonly { readonly one: string; readonly other: string; readonly similarity: number }[];
}

export function classHtml(input: ClassReportInput): string {
  const { sheet, at, work, unmatched } = input;
  const { rows, criteria, most, title } = sheet;
  const totals = rows.flatMap(({ grade }) => (grade?.total == null ? [] : [grade.total]));
  const sections: readonly Section[] = [
    {
      id: "points",
      title: "Points",
      content:
        totals.length === 0
          ? "<p>No submission is graded yet.</p>"
          : histogram("Students by points", bins(totals, most)),
    },
    {
      id: "criteria",
      title: "Criteria, hardest first",
      content: barList("Mean share of the points", difficulty(sheet), 1),
    },
    ...testsSection(sheet),
    flagsSection(input),
    ...alikeSections(input),
    ...(unmatched.length === 0
      ? []
      : [{ id: "unmatched", title: "Unmatched files", content: list(unmatched.map((name) => html(name))) }]),
    { id: "everybody", title: "All students", content: studentTable(input) },
    ...mostSection(
      "time",
      "Time, longest first",
      mostOf(sheet, work, ({ ms }) => ms, duration),
    ),
    ...mostSection(
      "cost",
      "Cost, most expensive first",
      mostOf(sheet, work, ({ dollars: cost }) => cost, dollars),
    ),
  ];
  return page(
    `${title}: class report`,
    `<main><h1>${html(title)}</h1>
<p>Class report, ${html(at)}. Grades are proposals until a person releases them.</p>
<ul class="tiles">${tilesOf(input, totals)
      .map(([value = "", name = ""]) => `<li><b>${html(value)}</b>${html(name)}</li>`)
      .join("")}</ul>
<nav aria-label="Sections">${sections.map(({ id, title: name }) => `<a href="#${id}">${html(name)}</a>`).join(" · ")}</nav>
${sections.map(({ id, title: name, content }) => `<section id="${id}"><h2>${html(name)}</h2>${content}</section>`).join("\n")}
<footer>${criteria.length} criteria, ${formatPoints(most)} points. Only graded submissions have a total; every other row shows the reason.</footer></main>`,
    { script: tableScript },
  );
}

interface Section {
  readonly id: string;
  readonly title: string;
  /** HTML. */
  readonly content: string;
}

function tilesOf({ sheet, work }: ClassReportInput, totals: readonly number[]): readonly (readonly string[])[] {
  const counts = new Map<string, number>();
  for (const row of sheet.rows) counts.set(statusOf(row), (counts.get(statusOf(row)) ?? 0) + 1);
  const spent = [...work.values()].flatMap(({ dollars }) => (dollars === null ? [] : [dollars]));
  const unknown = work.size - spent.length;
  const times = [...work.values()].flatMap(({ ms }) => (ms === null ? [] : [ms]));
  return [
    [`${totals.length} of ${sheet.rows.length}`, "graded"],
    ...[...counts].filter(([status]) => status !== "graded").map(([status, count]) => [String(count), status]),
    [totals.length === 0 ? "–" : `${formatPoints(meanPoints(totals, 2))} of ${formatPoints(sheet.most)}`, "mean"],
    [totals.length === 0 ? "–" : formatPoints(medianPoints(totals)), "median"],
    [times.length === 0 ? "–" : duration(median(times)), "median time"],
    [`${dollars(spent.reduce((sum, one) => sum + one, 0))}${unknown === 0 ? "" : ` and ${unknown} unknown`}`, "cost"],
  ];
}

/** A test counts once for a student, even if it belongs to several criteria. */
function testsSection({ rows }: GradeSheet): readonly Section[] {
  const tests = new Map<string, { failed: number; all: number }>();
  for (const { grade } of rows) {
    const passed = new Map<string, boolean>();
    for (const one of grade?.criteria ?? [])
      if (one.is === "scored") for (const test of one.tests) passed.set(test.name, test.passed);
    for (const [name, ok] of passed) {
      const known = tests.get(name) ?? { failed: 0, all: 0 };
      tests.set(name, { failed: known.failed + (ok ? 0 : 1), all: known.all + 1 });
    }
  }
  if (tests.size === 0) return [];
  const failing = [...tests]
    .filter(([, { failed }]) => failed > 0)
    .sort(([, one], [, other]) => other.failed - one.failed);
  const bars = failing.slice(0, 15).map(([label, { failed, all }]) => ({
    label,
    value: failed,
    shown: `${failed} of ${all} failed`,
  }));
  const content =
    bars.length === 0
      ? `<p>All ${tests.size} tests passed for every student.</p>`
      : `${barList("Submissions that fail a test", bars)}${failing.length > bars.length ? `<p>${failing.length - bars.length} more tests failed for at least one student.</p>` : ""}`;
  return [{ id: "tests", title: "Tests, most failures first", content }];
}

function flagsSection({ sheet, links }: ClassReportInput): Section {
  const flagged = sheet.rows.filter(({ grade }) => (grade?.flags.length ?? 0) > 0);
  const rows = flagged.map((row) => {
    const flags = (row.grade?.flags ?? []).map(({ kind, message, file, line }) => {
      const where = file === undefined ? "" : ` <code>${html(file)}${line === undefined ? "" : `:${line}`}</code>`;
      return `<b>${html(kind)}</b>: ${html(short(message))}${where}`;
    });
    const more = flags.length > 10 ? [`${flags.length - 10} more`] : [];
    return `<tr><td>${nameCell(row, links)}</td><td>${list([...flags.slice(0, 10), ...more])}</td></tr>`;
  });
  return {
    id: "flags",
    title: "Flagged submissions",
    content:
      rows.length === 0
        ? "<p>No flags.</p>"
        : `<div class="wide" tabindex="0"><table><thead><tr><th>Student</th><th>Flags</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`,
  };
}

function alikeSections({ identical = [], similar, comparedPartly = [] }: ClassReportInput): readonly Section[] {
  const same =
    identical.length === 0
      ? []
      : [
          {
            id: "identical",
            title: "Identical submissions",
            content: `<p>These submissions contain exactly the same files. A person decides what this means.</p>${list(identical.map((people) => html(people.join(" | "))))}`,
          },
        ];
  if (similar.length + comparedPartly.length === 0) return same;
  const partly =
    comparedPartly.length === 0
      ? ""
      : `<p>Compared only in part, because they are too long or too many: ${html(comparedPartly.join(", "))}.</p>`;
  const pairs = table(
    ["Submission", "Other submission", "Similarity"],
    similar.map(({ one, other, similarity }) => [one, other, `${Math.round(similarity * 100)} %`]),
  );
  const content = `<p>A person should compare these pairs. Similar does not mean copied.</p>${pairs}${partly}`;
  return [...same, { id: "similar", title: "Similar submissions", content }];
}

function mostSection(id: string, title: string, bars: readonly Bar[]): readonly Section[] {
  return bars.length === 0 ? [] : [{ id, title, content: barList(title, bars) }];
}

function nameCell({ student }: GradeRow, links: ClassReportInput["links"]): string {
  const link = links?.get(student.key);
  const name = `<bdi>${html(student.name)}</bdi>`;
  return link === undefined ? name : `<a href="${html(link)}">${name}</a>`;
}

function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul>`;
}

function short(text: string): string {
  return text.length <= 300 ? text : `${text.slice(0, 299)}…`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${html(cell)}</${tag}>`).join("");
  return `<div class="wide" tabindex="0"><table><thead><tr>${cells(header, "th")}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("")}</tbody></table></div>`;
}

/** See C2 in the file header. */
function whyOf({ grade }: GradeRow): string {
  if (grade === null || grade.outcome.is === "graded") return "";
  const { why } = grade.outcome;
  return short(typeof why === "string" ? why : why.join("; "));
}

function studentTable({ sheet, links, uncounted }: ClassReportInput): string {
  const rows = sheet.rows.map((row) => {
    const { student, grade } = row;
    const status = statusOf(row);
    const marks = sheet.criteria.map(({ id }) => {
      const found = grade?.criteria.find((one) => one.id === id);
      return number(found?.is === "scored" ? found.points : null);
    });
    const flags = grade?.flags.length ?? 0;
    const others = uncounted?.get(student.key) ?? [];
    const whys = [whyOf(row), others.length === 0 ? "" : `does not count: ${short(others.join(", "))}`]
      .filter((text) => text !== "")
      .map((text) => `<span class="why">${html(text)}</span>`);
    const key = student.login ?? student.id ?? student.key;
    return `<tr data-status="${html(status)}"><td data-value="${html(student.name)}">${nameCell(row, links)}${key === student.name ? "" : ` <span class="why">${html(key)}</span>`}</td><td data-value="${html(status)}">${html(status)}${whys.join("")}</td>${number(grade?.total ?? null)}<td class="number" data-value="${flags}">${flags === 0 ? "" : `<span class="warn">⚑ ${flags}</span>`}</td>${marks.join("")}</tr>`;
  });
  const head = (text: string, numeric: boolean) =>
    `<th${numeric ? ' class="number"' : ""} scope="col"><button type="button">${html(text)}</button></th>`;
  const heads = [head("Student", false), head("Status", false), head("Total", true), head("Flags", true)];
  const statuses = [...new Set(sheet.rows.map((row) => statusOf(row)))].sort();
  const options = statuses.map((one) => `<option value="${html(one)}">${html(one)}</option>`).join("");
  return `<div class="tools" data-needs-script hidden><label>Search <input type="search" id="search" autocomplete="off"></label>
<label>Status <select id="status"><option value="">all</option>${options}</select></label><output id="count" aria-live="polite"></output></div>
<div class="wide" tabindex="0"><table id="students"><thead><tr>${heads.join("")}${sheet.criteria.map(({ id }) => head(id, true)).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function number(points: number | null): string {
  return `<td class="number" data-value="${points ?? ""}">${points === null ? "–" : formatPoints(points)}</td>`;
}

/** At most ten bins of a round width. The last one includes the full points. */
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
      const sum = sumPoints(marks);
      const whole = marks.length === 0 || points === 0 ? null : sumPoints(marks.map(() => points));
      const reached = whole === null ? 0 : scalePoints(sum, 1, whole, 9);
      const share = points < 0 && whole !== null ? 1 - reached : reached;
      const percent = scalePoints(100, points < 0 && whole !== null ? sumPoints([whole, -sum]) : sum, whole ?? 1, 0);
      const missed = marks.map((mark) => sumPoints([Math.max(0, points), -mark]));
      const lost = marks.length === 0 ? 0 : meanPoints(missed, 2);
      const shown = `${percent} %, ${formatPoints(lost)} points lost on average`;
      return { label: title, value: share, shown: marks.length === 0 ? "not graded" : shown };
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

/** Exact points: the mean of the two middle values has no binary rounding error. */
function medianPoints(points: readonly number[]): number {
  const sorted = [...points].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return meanPoints(sorted.slice(sorted.length % 2 === 1 ? middle : middle - 1, middle + 1));
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
