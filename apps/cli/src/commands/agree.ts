import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { readBatchClass } from "../class-papers.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { agreementRows, agreementTable, readHumanGrades } from "../human-grades.ts";
import { jsonText } from "../json-text.ts";
import { withStack } from "../with-stack.ts";

export const agree: Command = {
  help: `Usage: markmill agree [BATCH] --human grades.csv [--json]

Compare the proposed grades with grades that people gave. For each criterion,
print the share of equal grades, the share within one step, the mean error
(MAE), the correlation (r), ICC(3,1) and the leniency. A leniency above zero
means that the model gives more points than people.

The table needs a column for the student (id, login, email or name) and one
column for each criterion (its id or title) or for the total. A row that fits
two students is skipped.

Example:
  markmill agree --human grades.csv`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { human: { type: "string" }, json: { type: "boolean" } },
    });
    const { human } = values;
    if (human === undefined) throw new UsageError("Name the file with human grades: --human grades.csv.");
    const bytes = await readFile(resolve(terminal.cwd, human)).catch(() => {
      throw new UsageError(`File ${human} not found.`);
    });
    return await withStack(terminal, async (stack) => {
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const { sheet, works } = await readBatchClass(stack, batch);
      const read = readHumanGrades(bytes, sheet);
      if (read === null) {
        const criteria = sheet.criteria.map(({ id }) => id).join(", ");
        throw new UsageError(
          `${human} needs a column id, login, email or name, and columns such as ${criteria} or total.`,
        );
      }
      for (const name of read.unknown) terminal.err(`not in the class: ${name}`);
      for (const { line, name, among, why } of read.doubtful)
        terminal.err(`${human}:${line}: ${name} was skipped. It could be ${among.join(" or ")}: ${why}.`);
      const proposals = new Map(
        [...works].flatMap(([key, work]) => (work.proposal === null ? [] : [[key, work.proposal.grade] as const])),
      );
      const rows = agreementRows(batch.rubric, proposals, read);
      const { unknown, doubtful } = read;
      if (values.json === true) terminal.out(jsonText({ id: batch.id, items: rows, next: null, unknown, doubtful }));
      if (rows.length === 0) {
        terminal.err("Nothing to compare: no student in the table has a proposed grade.");
        return exitCodes.failed;
      }
      if (values.json !== true) for (const line of agreementTable(rows)) terminal.out(line);
      return exitCodes.success;
    });
  },
};
