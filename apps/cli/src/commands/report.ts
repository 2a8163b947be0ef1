import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { tellReports } from "../attend-class.ts";
import { readBatchClass } from "../class-papers.ts";
import { resultsOf } from "../class-results.ts";
import { printClassTable } from "../class-table.ts";
import { type Command, exitCodes } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { paperKinds } from "../results-register.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const report: Command = {
  help: `Usage: markmill report [BATCH] [--out DIR] [--md] [--html] [--pdf] [--draft]

Write the class report, the grades, and a report for each student whose grade is
released. Later commands that change grades also update these files. Without
BATCH: the latest class. Without a format: all formats.

Examples:
  markmill report
  markmill report examples/class-roman --out for-students --pdf

  --out DIR            write the files here (default: the results folder)
  --draft              write reports of unreleased grades too; each says DRAFT

Exit codes:
  0  written
  3  a row of grades.csv is left out
  4  files could not be written`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: "string" },
        md: { type: "boolean" },
        html: { type: "boolean" },
        pdf: { type: "boolean" },
        draft: { type: "boolean" },
      },
    });
    const asked = paperKinds.filter((kind) => values[kind] === true);
    return await withStack(terminal, async (stack, config) => {
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const read = await readBatchClass(stack, batch);
      const out = resolve(terminal.cwd, values.out ?? read.facts.out ?? "results");
      const results = resultsOf(stack, config, batch, terminal);
      const known = asked.length === 0 ? null : await results.placeAt(out);
      // Formats that were written there before are updated, too.
      const kinds = paperKinds.filter(
        (kind) => asked.length === 0 || asked.includes(kind) || known?.kinds.includes(kind),
      );
      await results.remember({ out, kinds, draft: values.draft === true });
      const papers = (await results.write({ tellWritten: false, whole: out })).get(out);
      printClassTable(read.sheet, terminal);
      if (papers === undefined) return results.code(exitCodes.success);
      terminal.err(`class report: ${papers.report}`);
      for (const path of papers.grades) terminal.err(`grades: ${path}`);
      terminal.err(tellReports(papers));
      if (papers.reports.unreleased > 0)
        terminal.err(`next: markmill release ${shortId(batch.id)}   or use --draft for reports marked DRAFT`);
      return results.code(exitCodes.success);
    });
  },
};
