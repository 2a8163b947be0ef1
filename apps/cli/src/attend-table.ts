/** Reports how a table of runs ended, and writes its files: the table for programs and spreadsheets, and each result as a file. */
import { join } from "node:path";
import type { Stack } from "@markmill/stack";
import type { BatchDetail } from "@markmill/store";
import { countOf, formatElapsed } from "./amounts.ts";
import { batchAsJson } from "./batch-as-json.ts";
import { type ClassEnd, nextOfEnd, tableExitCode } from "./class-end.ts";
import type { TableFacts } from "./class-facts.ts";
import { spendOf } from "./class-progress.ts";
import type { Terminal } from "./command.ts";
import { jsonText } from "./json-text.ts";
import { put } from "./put-file.ts";
import { shortId } from "./short-id.ts";
import {
  readTableRows,
  resultFile,
  type TableRow,
  tableCsv,
  tableJson,
  tableLines,
  variedSettings,
} from "./table-rows.ts";

export interface TableShown {
  readonly json: boolean;
  readonly names: boolean;
  readonly out: string | null;
  /** null: the table is still running. */
  readonly end: ClassEnd | null;
  readonly ms: number | null;
}

export async function endTable(
  stack: Stack,
  batch: BatchDetail,
  table: TableFacts,
  { json, names, out, end, ms }: TableShown,
  terminal: Terminal,
): Promise<number> {
  const rows = await readTableRows(stack, batch, table);
  const papers = out === null ? null : await writeTablePapers(rows, batch.name, out);
  const own = rows.filter(({ number }) => number > 0);
  const code =
    end === null
      ? 0
      : tableExitCode(
          end,
          own.map(({ status }) => status),
        );
  const { id, name } = batch;
  if (json && names) {
    terminal.out(
      jsonText({
        ...batchAsJson(batch),
        end,
        exitCode: code,
        papers,
        rows: tableJson(rows, `${name}_results`),
      }),
    );
  } else if (names) for (const line of tableLines(rows, terminal.shown ? terminal.columns : 80)) terminal.out(line);
  const sums = new Map<string, number>();
  for (const { status } of own) sums.set(status, (sums.get(status) ?? 0) + 1);
  terminal.err("");
  terminal.err(`${name}: ${[...sums].map(([status, count]) => `${count} ${status}`).join(", ")}`);
  terminal.err(
    `cost: ${spendOf(batch)}, ${countOf(batch.spent.calls, "model call")}${ms === null ? "" : `, ${formatElapsed(ms)}`}`,
  );
  if (names)
    for (const { number, key, why } of rows)
      if (why !== null) terminal.err(`${number > 0 ? `run ${number}` : key}: ${why}`);
  if (papers !== null) for (const [what, path] of Object.entries(papers)) terminal.err(`${what}: ${path}`);
  terminal.err(`batch: ${id}`);
  const failed = own.some(({ status }) => status === "failed");
  const next =
    end === null
      ? []
      : end.is === "finished"
        ? failed
          ? [`markmill retry ${shortId(id)}   retry the failed runs`]
          : []
        : nextOfEnd(end, shortId(id));
  for (const step of next) terminal.err(`next: ${step}`);
  return code;
}

/** Writes whole files, all of them each time. */
async function writeTablePapers(rows: readonly TableRow[], name: string, out: string) {
  const folder = `${name}_results`;
  const varied = variedSettings(rows);
  const [csv, json] = [join(out, `${name}.csv`), join(out, `${name}.json`)];
  await put(csv, tableCsv(rows, folder));
  await put(json, `${JSON.stringify({ version: 1, name, rows: tableJson(rows, folder) }, null, 2)}\n`);
  for (const row of rows) {
    const file = resultFile(row, varied);
    if (file !== null && row.result !== null) await put(join(out, folder, file), row.result);
  }
  return { table: csv, json, results: join(out, folder) };
}
