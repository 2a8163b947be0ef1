import { parseArgs } from "node:util";
import { everyWork } from "@markmill/stack";
import { resultsOf } from "../class-results.ts";
import { type Command, exitCodes } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { readConditions, requireKnown, selects } from "../select-works.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const release: Command = {
  help: `Usage: markmill release [BATCH] [--where CONDITION]… [--withdraw --reason TEXT]

Let grades be given out: an act of a person, recorded with who and when.
Submissions without a grade are left out and counted. Released twice is released
once. The results on disk are written again: released students get their
reports, and a withdrawn grade loses its report.

Exit codes: 0 done; 4 done, but results on disk could not be written.

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
      const all = await everyWork(batches, batch.id);
      requireKnown(conditions, all);
      const works = all.filter((work) => work.counts && selects(conditions, work, batch.definitionHash));
      const by = whoSays(values.by);
      const results = resultsOf(stack, config, batch, terminal);
      if (values.withdraw === true) {
        const out = works.filter(({ grade }) => grade?.released != null);
        const reason = values.reason ?? "Withdrawn by hand.";
        await results.during(async () => {
          for (const { key } of out) await batches.record(batch.id, { work: key, kind: "withdrawn", by, reason });
        });
        terminal.err(`withdrawn: ${out.length}`);
        return results.code(exitCodes.success);
      }
      // A grade that changed after it was released is released anew.
      const ready = works.filter(
        ({ grade }) => grade?.outcome.is === "graded" && grade.released?.total !== grade.total,
      );
      await results.during(async () => {
        for (const { key } of ready) await batches.record(batch.id, { work: key, kind: "released", by });
      });
      const before = works.filter(({ grade }) => grade?.outcome.is === "graded").length - ready.length;
      const left = works.length - ready.length - before;
      terminal.err(
        `released: ${ready.length}${before > 0 ? `, ${before} before` : ""}${left > 0 ? `, ${left} left out: they have no grade yet` : ""}`,
      );
      if (left > 0) terminal.err(`next: markmill review ${shortId(batch.id)} --list`);
      terminal.err(`next: markmill export ${shortId(batch.id)} --to …   writes a file for the gradebook`);
      return results.code(exitCodes.success);
    });
  },
};
