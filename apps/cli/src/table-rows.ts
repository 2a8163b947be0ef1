/** Builds the result rows of a table of runs from the batch, with the scores that the table requests. */
import { factsScore, lengthScore } from "@markmill/classroom";
import { guardCell, writeTable } from "@markmill/classroom/csv";
import { fileNameOf } from "@markmill/classroom/gradebook";
import { everyWork, type Stack } from "@markmill/stack";
import type { BatchDetail, BatchWork, RunDetail, Spent } from "@markmill/store";
import type { TableFacts } from "./class-facts.ts";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";
import { settingNames } from "./table-plan.ts";

export interface TableRow {
  /** 0: the setup or the cleanup. */
  readonly number: number;
  readonly key: string;
  readonly label: string;
  readonly workflow: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly status: string;
  /** The reason why it failed or waits. */
  readonly why: string | null;
  readonly runId: string | null;
  readonly result: string | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly steps: number;
  readonly spent: Spent | null;
  /** From 0 to 100. null: not requested, or there is no result. */
  readonly lengthScore: number | null;
  readonly factsScore: number | null;
}

export async function readTableRows(
  { tenant }: Pick<Stack, "tenant">,
  batch: BatchDetail,
  table: TableFacts,
): Promise<readonly TableRow[]> {
  const works = (await everyWork(tenant.batches, batch.id)).filter(({ counts }) => counts);
  const rows: TableRow[] = [];
  for (const work of works) {
    const ended = work.try !== null && (work.standing.is === "succeeded" || work.standing.is === "failed");
    const run = ended && work.try !== null ? await tenant.runs.get(work.try.runId) : null;
    const spent = ended && work.try !== null ? await tenant.runs.spent(work.try.runId) : null;
    rows.push(rowOf(work, run, spent, table));
  }
  return rows.sort((one, other) => order(one) - order(other));
}

function order({ number, key }: TableRow): number {
  return number > 0 ? number : key === "setup" ? 0 : Number.MAX_SAFE_INTEGER;
}

function rowOf(work: BatchWork, run: RunDetail | null, spent: Spent | null, table: TableFacts): TableRow {
  const start = work.content.is === "taken" ? work.content.start : undefined;
  const [number = "0", workflow = ""] = work.sources;
  const result = run?.result ?? null;
  const scored = work.standing.is === "succeeded" && result !== null && Number(number) > 0;
  const { standing } = work;
  const why =
    standing.is === "failed"
      ? standing.failure === null
        ? standing.status
        : `${standing.failure.code}: ${standing.failure.message}`
      : standing.is === "refused"
        ? `${standing.code}: ${standing.message}`
        : standing.is === "running" && standing.wait !== null
          ? standing.wait.parked.failure.message
          : null;
  return {
    number: Number(number),
    key: work.key,
    label: work.label,
    workflow,
    variables: start?.variables ?? {},
    status: statusWord(work),
    why,
    runId: work.try?.runId ?? null,
    result,
    startedAt: work.try?.startedAt ?? null,
    endedAt: work.try?.endedAt ?? null,
    steps: run?.spent.steps ?? 0,
    spent,
    lengthScore: scored && table.expectedLength !== null ? lengthScore(result, table.expectedLength) : null,
    factsScore: scored ? factsScore(result, table.expectedFacts) : null,
  };
}

function statusWord({ standing }: BatchWork): string {
  switch (standing.is) {
    case "succeeded":
      return "success";
    case "failed":
      return standing.status;
    case "refused":
      return "failed";
    default:
      return standing.is;
  }
}

/** Settings in which rows differ. */
export function variedSettings(rows: readonly TableRow[]): string[] {
  const own = rows.filter(({ number }) => number > 0);
  return settingNames.filter((name) => new Set(own.map(({ variables }) => variables[name] ?? "")).size > 1);
}

const wordsOf = (text: string | null) => (text === null ? "" : String(text.split(/\s+/).filter(Boolean).length));
const percent = (score: number | null) => (score === null ? "" : score.toFixed(1).replace(/\.0$/, ""));
const nameOf = ({ number, key }: TableRow) => (number > 0 ? String(number) : key);

/** Formats the table for a screen: at its width, without empty columns. */
export function tableLines(rows: readonly TableRow[], columns: number): string[] {
  const varied = variedSettings(rows);
  const all: readonly { readonly head: string; readonly of: (row: TableRow) => string; readonly most: number }[] = [
    { head: "nr", of: nameOf, most: 8 },
    { head: "label", of: ({ label }) => oneLine(label), most: 24 },
    { head: "workflow", of: ({ workflow }) => oneLine(workflow.split("/").at(-1) ?? ""), most: 24 },
    ...varied.map((name) => ({
      head: name
        .replace(/^AI_/, "")
        .replace(/_NAME$/, "")
        .toLowerCase(),
      of: ({ variables }: TableRow) => oneLine(variables[name] ?? ""),
      most: 16,
    })),
    { head: "status", of: ({ status }) => status, most: 10 },
    { head: "words", of: ({ result }) => wordsOf(result), most: 8 },
    { head: "length", of: (row) => percent(row.lengthScore), most: 6 },
    { head: "facts", of: (row) => percent(row.factsScore), most: 6 },
  ];
  const shown = all.filter(({ of }) => rows.some((row) => of(row) !== ""));
  const widths = shown.map(({ head, of, most }) =>
    Math.min(most, Math.max(textWidth(head), ...rows.map((row) => textWidth(of(row))))),
  );
  // If the table is too wide, text columns are shortened first.
  for (let over = widths.reduce((sum, width) => sum + width + 2, -2) - columns; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(4, (widths[widest] ?? 4) - 1);
  }
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => {
        const fitted = fitWidth(cell, widths[index] ?? 0);
        return fitted + " ".repeat(Math.max(0, (widths[index] ?? 0) - textWidth(fitted)));
      })
      .join("  ")
      .trimEnd();
  return [line(shown.map(({ head }) => head)), ...rows.map((row) => line(shown.map(({ of }) => of(row))))];
}

/** The file for the result of a row. null: it has none. */
export function resultFile(row: TableRow, varied: readonly string[]): string | null {
  if (row.result === null) return null;
  const said = [nameOf(row), row.label, ...varied.map((name) => row.variables[name] ?? "")].filter(
    (part) => part !== "",
  );
  return `${fileNameOf(said.join("_").replaceAll(/[ :/]/g, "_"))}.md`;
}

const header = [
  ...["nr", "sourcefile", "label", "cfg_model", "cfg_temperature", "cfg_top_p", "cfg_f_penalty", "cfg_p_penalty"],
  ...["run_timestamp", "run_duration_sec", "result_status", "result_file", "result_length", "total_duration_sec"],
  ...["total_iterations", "total_prompt_tokens", "total_completion_tokens", "total_tokens", "total_prompt_chars"],
  ...["total_completion_chars", "total_chars", "score_result_length", "score_result_facts"],
];

/** The columns of CodeMentor's table. Values that we do not measure are left blank. */
export function tableCsv(rows: readonly TableRow[], folder: string): string {
  const varied = variedSettings(rows);
  const lines = rows
    .filter(({ number }) => number > 0)
    .map((row) => {
      const { startedAt, endedAt, spent } = row;
      const file = resultFile(row, varied);
      const seconds =
        startedAt === null || endedAt === null ? "" : ((endedAt.getTime() - startedAt.getTime()) / 1000).toFixed(1);
      return [
        ...[
          String(row.number),
          guardCell(row.workflow),
          guardCell(row.label),
          ...settingNames.map((name) => row.variables[name] ?? ""),
        ],
        ...[
          startedAt?.toISOString() ?? "",
          seconds,
          row.status.toUpperCase(),
          file === null ? "" : `${folder}/${file}`,
        ],
        ...[wordsOf(row.result), seconds, String(row.steps), String(spent?.promptTokens ?? "")],
        ...[
          String(spent?.completionTokens ?? ""),
          spent === null ? "" : String(spent.promptTokens + spent.completionTokens),
        ],
        ...["", "", String(spent?.characters ?? ""), percent(row.lengthScore), percent(row.factsScore)],
      ];
    });
  return writeTable([header, ...lines], { separator: ";", bom: true });
}

export function tableJson(rows: readonly TableRow[], folder: string) {
  const varied = variedSettings(rows);
  return rows.map(({ result, ...row }) => {
    const file = resultFile({ ...row, result }, varied);
    return { ...row, words: Number(wordsOf(result) || 0), resultFile: file === null ? null : `${folder}/${file}` };
  });
}
