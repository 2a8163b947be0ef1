import { parseArgs } from "node:util";
import type { BatchWork } from "@markmill/store";
import { readBatchClass } from "../class-papers.ts";
import { resultsOf } from "../class-results.ts";
import { type Command, exitCodes } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { oneLine } from "../fit-width.ts";
import { planReleases, recordReleases, recordSeen } from "../release-grades.ts";
import { readConditions, requireKnown, selects } from "../select-works.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const release: Command = {
  help: `Usage: markmill release [BATCH] [--where CONDITION]… [--withdraw --reason TEXT]

Release grades to students. Markmill records who released which grades, when and
for whom. For each student, the attempt that counts is released if its grade is
final; every other submission is listed with the reason. To release a grade
twice has no effect. A grade that changes during the command is not released.
Markmill then updates the results on disk: it writes the reports of released
students and deletes the reports of withdrawn grades.

Exit codes:
  0  done
  3  a grade changed during the command, so it was not released or withdrawn
  4  done, but results on disk could not be written

Examples:
  markmill release
  markmill release examples/class-roman --where total>=5
  markmill release --withdraw --where student=4119 --reason 'second look'`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        where: { type: "string", multiple: true },
        withdraw: { type: "boolean" },
        reason: { type: "string" },
        by: { type: "string" },
      },
    });
    const conditions = readConditions(values.where ?? []);
    return await withStack(terminal, async (stack, config) => {
      const { batches } = stack.tenant;
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const read = await readBatchClass(stack, batch);
      const { all } = read;
      requireKnown(conditions, all);
      const selected = (work: BatchWork) => selects(conditions, work, batch.definitionHash);
      const by = whoSays(values.by);
      const results = resultsOf(stack, config, batch, terminal);
      const again = (who: readonly string[]) => {
        if (who.length === 0) return results.code(exitCodes.success);
        const names = new Map(read.sheet.rows.map(({ student }) => [student.key, student.name]));
        const told = who.map((key) => names.get(key) ?? key).join(", ");
        terminal.err(`! not changed, because the grade changed during the command: ${oneLine(told)}`);
        terminal.err("next: review it, and run the same command again");
        return results.code(exitCodes.someNotGraded);
      };
      if (values.withdraw === true) {
        const out = all.filter((work) => work.counts && work.grade?.released != null && selected(work));
        const reason = values.reason ?? "Withdrawn by hand.";
        const changed: string[] = [];
        await results.during(async () => {
          for (const work of out) {
            const said = { work: work.key, kind: "withdrawn", by, reason } as const;
            if (!(await recordSeen(batches, batch.id, said, work))) changed.push(...work.by);
          }
        });
        terminal.err(
          `withdrawn: ${out.length - out.filter((work) => work.by.some((key) => changed.includes(key))).length}`,
        );
        return again(changed);
      }
      const { releases, before, leftOut } = planReleases(read, selected, conditions.length === 0);
      const changed: string[] = [];
      await results.during(async () => {
        changed.push(...(await recordReleases(batches, batch.id, releases, by)));
      });
      const done = releases.flatMap(({ students }) => students).length - changed.length;
      terminal.err(
        `released: ${done}${before.length > 0 ? `, ${before.length} before` : ""}${leftOut.length > 0 ? `, ${leftOut.length} left out:` : ""}`,
      );
      for (const { name, why } of leftOut) terminal.err(`  ${oneLine(`${name}: ${why}`)}`);
      if (leftOut.length > 0) terminal.err(`next: markmill review ${shortId(batch.id)} --list`);
      terminal.err(`next: markmill export ${shortId(batch.id)} --to …   write a file for the gradebook`);
      return again(changed);
    });
  },
};
