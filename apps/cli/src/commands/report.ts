import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type PaperKind, paperKinds, readBatchClass, writePapers } from "../class-papers.ts";
import { printClassTable } from "../class-table.ts";
import { type Command, exitCodes } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { withStack } from "../with-stack.ts";

export const report: Command = {
  help: `Usage: markmill report [BATCH] [--out DIR] [--md] [--html] [--pdf]

Writes the class report, the grades and a report for each student anew, with
what people have said since. Without BATCH: the latest class; without a format:
all.

Examples:
  markmill report
  markmill report examples/class-roman --out for-students --pdf`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        out: { type: "string" },
        md: { type: "boolean" },
        html: { type: "boolean" },
        pdf: { type: "boolean" },
      },
    });
    const asked = paperKinds.filter((kind) => values[kind] === true);
    const kinds: readonly PaperKind[] = asked.length === 0 ? paperKinds : asked;
    return await withStack(terminal, async (stack) => {
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const read = await readBatchClass(stack, batch);
      const out = resolve(terminal.cwd, values.out ?? read.facts.out ?? "results");
      const papers = await writePapers(read, out, { now: stack.store.clock.now(), kinds });
      printClassTable(read.sheet, terminal);
      terminal.err(`class report: ${papers.report}`);
      for (const path of papers.grades) terminal.err(`grades: ${path}`);
      terminal.err(`students: ${papers.students}`);
      return exitCodes.success;
    });
  },
};
