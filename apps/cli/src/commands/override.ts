import { parseArgs } from "node:util";
import { formatPoints } from "@markmill/gradebook";
import { readPoints } from "@markmill/grading";
import { everyMember, everyWork } from "@markmill/stack";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { findWork } from "../find-student.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const override: Command = {
  help: `Usage: markmill override WHO --criterion ID --points N --reason TEXT [OPTIONS]

Sets the points of one criterion of one work, with a reason. The proposal is
kept beside it; every word of a person is appended to the record, with who and
when.

Examples:
  markmill override 4119 --criterion names --points 2 --reason 'names are fine'
  markmill override 'Öberg' --criterion names --undo --reason 'my mistake'

  WHO                  the student: key, id, login, address, name, pseudonym
  --batch BATCH        the class; the latest one without it
  --criterion ID       of the rubric
  --points N           of that criterion
  --undo               take the override before back
  --comment TEXT       for the student
  --by NAME            who says so; your account without it`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        batch: { type: "string" },
        student: { type: "string" },
        criterion: { type: "string" },
        points: { type: "string" },
        undo: { type: "boolean" },
        reason: { type: "string" },
        comment: { type: "string" },
        by: { type: "string" },
      },
    });
    const who = values.student ?? positionals[0];
    const { criterion, reason } = values;
    if (who === undefined) throw new UsageError("Name a student: the key, the id or the whole name.");
    if (criterion === undefined) throw new UsageError("Say which one: --criterion ID.");
    if (reason === undefined || reason.trim() === "") throw new UsageError("Say why: --reason TEXT.");
    const points = values.undo === true ? null : readPoints(values.points ?? "");
    if (points === null && values.undo !== true) throw new UsageError("Say how many: --points N, such as 2 or 2.5.");
    return await withStack(terminal, async (stack) => {
      const { batches } = stack.tenant;
      const batch = await findClass(stack.tenant, values.batch, terminal.cwd);
      const known = batch.rubric.criteria.find(({ id }) => id.toLowerCase() === criterion.toLowerCase());
      if (known === undefined) {
        throw new UsageError(
          `The rubric has no criterion ${criterion}. It has ${batch.rubric.criteria.map(({ id }) => id).join(", ")}.`,
        );
      }
      const [low, high] = [Math.min(0, known.points), Math.max(0, known.points)];
      if (points !== null && (points < low || points > high)) {
        throw new UsageError(
          `${known.id} is worth ${formatPoints(low)} to ${formatPoints(high)}, not ${formatPoints(points)}.`,
        );
      }
      const work = findWork(who, await everyMember(batches, batch.id), await everyWork(batches, batch.id));
      const event = await batches.record(batch.id, {
        ...{ work: work.key, kind: "override", by: whoSays(values.by), criterion: known.id, points, reason },
        ...(values.comment === undefined ? {} : { comment: values.comment }),
      });
      const after = await batches.work(batch.id, work.key);
      const from = event.from === null ? "nothing" : formatPoints(event.from);
      terminal.err(`${known.id}: ${from} → ${event.to === null ? "as proposed" : formatPoints(event.to)}`);
      const total = after?.grade?.total ?? null;
      terminal.out(
        total === null
          ? `${after?.grade?.outcome.is ?? "open"}`
          : `${formatPoints(total)} of ${formatPoints(after?.grade?.most ?? 0)}`,
      );
      return exitCodes.success;
    });
  },
};
