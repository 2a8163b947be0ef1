import { parseArgs } from "node:util";
import { everyWork } from "@markmill/stack";
import { type Command, exitCodes } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { readConditions, requireKnown, selects } from "../select-works.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const release: Command = {
  help: `Usage: markmill release [BATCH] [--where CONDITION]… [--withdraw --reason TEXT]

Says that grades may be given out: an act of a person, written down with who and
when. What needs a person, or has no grade, is left out and told. Released twice
is released once.

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
    return await withStack(terminal, async (stack) => {
      const { batches } = stack.tenant;
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const all = await everyWork(batches, batch.id);
      requireKnown(conditions, all);
      const works = all.filter((work) => work.counts && selects(conditions, work, batch.definitionHash));
      const by = whoSays(values.by);
      if (values.withdraw === true) {
        const out = works.filter(({ grade }) => grade?.released != null);
        for (const { key } of out)
          await batches.record(batch.id, {
            work: key,
            kind: "withdrawn",
            by,
            reason: values.reason ?? "Withdrawn by hand.",
          });
        terminal.err(`withdrawn: ${out.length}`);
        return exitCodes.success;
      }
      // A grade that changed after it was released is released anew.
      const ready = works.filter(
        ({ grade }) => grade?.outcome.is === "graded" && grade.released?.total !== grade.total,
      );
      for (const { key } of ready) await batches.record(batch.id, { work: key, kind: "released", by });
      const before = works.filter(({ grade }) => grade?.outcome.is === "graded").length - ready.length;
      const left = works.length - ready.length - before;
      terminal.err(
        `released: ${ready.length}${before > 0 ? `, ${before} before` : ""}${left > 0 ? `, ${left} left out: they have no grade yet` : ""}`,
      );
      if (left > 0) terminal.err(`next: markmill review ${shortId(batch.id)} --list`);
      terminal.err(`next: markmill report ${shortId(batch.id)}   writes the reports anew; markmill export --to …`);
      return exitCodes.success;
    });
  },
};
