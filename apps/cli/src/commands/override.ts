import { parseArgs } from "node:util";
import { formatPoints } from "@markmill/classroom/gradebook";
import { type GradeEvent, readPoints } from "@markmill/grading";
import { countingWork, everyMember, everyWork, parseCount } from "@markmill/stack";
import type { BatchWork, NewGradeEvent, TenantBatches } from "@markmill/store";
import { resultsOf } from "../class-results.ts";
import { type Command, CommandError, exitCodes, type Terminal, UsageError } from "../command.ts";
import { requireDecided } from "../counting-choices.ts";
import { findClass } from "../find-batch.ts";
import { attemptsOf, attemptToUndo, findWork } from "../find-student.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const override: Command = {
  help: `Usage: markmill override WHO --criterion ID --points N --reason TEXT [OPTIONS]

       markmill override WHO --criterion ID --undo [--entry ID] --reason TEXT

Set the points of one criterion of a submission by hand, with a reason. The
proposal is kept. Every mark is recorded with its author and time. If a student
has several attempts, the mark belongs to the one that counts.

Examples:
  markmill override 4119 --criterion names --points 2 --reason 'names are fine'
  markmill override 'Öberg' --criterion names --undo --reason 'my mistake'

  WHO                  the student: key, id, login, address, name, pseudonym
  --batch BATCH        the class (default: the latest one)
  --criterion ID       the criterion of the rubric
  --points N           the new points of this criterion
  --replace ID         replace the mark with this id, which another person gave.
                       Without it, Markmill shows that mark and changes nothing
  --undo               take back your own last mark of the criterion. The mark
                       before it counts again
  --entry ID           with --undo: take back the mark with this id
  --comment TEXT       a comment for the student
  --by NAME            the author of the mark (default: your user account)

Markmill then updates the results on disk. Exit code 4: the mark is recorded,
but results could not be written.`,

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
        replace: { type: "string" },
        entry: { type: "string" },
        reason: { type: "string" },
        comment: { type: "string" },
        by: { type: "string" },
      },
    });
    const who = values.student ?? positionals[0];
    const { criterion, reason } = values;
    if (who === undefined) throw new UsageError("Name a student: the key, the id or the whole name.");
    if (criterion === undefined) throw new UsageError("Name the criterion: --criterion ID.");
    if (reason === undefined || reason.trim() === "") throw new UsageError("Give a reason: --reason TEXT.");
    const points = values.undo === true ? null : readPoints(values.points ?? "");
    if (points === null && values.undo !== true) throw new UsageError("Give the points: --points N, such as 2 or 2.5.");
    const replaces = idOf(values.replace, "--replace");
    const entry = idOf(values.entry, "--entry");
    if (entry !== null && points !== null) throw new UsageError("--entry needs --undo.");
    return await withStack(terminal, async (stack, config) => {
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
      const works = await everyWork(batches, batch.id);
      const me = whoSays(values.by);
      const { work: meant, student } = findWork(who, await everyMember(batches, batch.id), works);
      if (points !== null) requireDecided(student, works, batch);
      const work =
        points === null && meant.key !== who
          ? attemptToUndo(meant, works, { criterion: known.id, entry, by: me })
          : meant;
      if (replaces !== null) requireStanding(work, known.id, replaces);
      const results = resultsOf(stack, config, batch, terminal);
      const event = await results.during(() =>
        record(batches, batch.id, work, {
          work: work.key,
          kind: "override",
          by: me,
          criterion: known.id,
          points,
          reason,
          ...(values.comment === undefined ? {} : { comment: values.comment }),
          ...(entry === null ? {} : { takesBack: entry }),
          // The person named the mark, so they have seen it. Marks that are added from now on are unseen.
          ...(replaces === null && entry === null ? {} : { seen: [work.etag] }),
        }),
      );
      const after = await batches.work(batch.id, work.key);
      const from = event.from === null ? "nothing" : formatPoints(event.from);
      const stands = after?.grade?.overrides.find((one) => one.criterion === known.id);
      const to =
        event.to !== null
          ? formatPoints(event.to)
          : stands === undefined
            ? "as proposed"
            : `${formatPoints(stands.points)}, the mark of ${stands.by} (${stands.id})`;
      const attempts = attemptsOf(work, works);
      terminal.err(
        `${known.id}: ${from} → ${to}${attempts.length > 1 ? ` (attempt ${work.attempt} of ${attempts.length})` : ""}`,
      );
      tellCounting(attempts, after, terminal);
      const total = after?.grade?.total ?? null;
      terminal.out(
        total === null
          ? `${after?.grade?.outcome.is ?? "open"}`
          : `${formatPoints(total)} of ${formatPoints(after?.grade?.most ?? 0)}`,
      );
      const released = after?.grade?.released ?? null;
      if (released !== null && released.total !== total) {
        terminal.err(
          "! the new grade differs from the released one, so exports and reports leave it out until you release it",
        );
        terminal.err(`next: markmill release ${shortId(batch.id)} --where student=${work.by[0] ?? work.key}`);
      }
      return results.code(exitCodes.success);
    });
  },
};

/** With `attempts: best`, a changed mark can make another attempt count. */
function tellCounting(attempts: readonly BatchWork[], after: BatchWork | null, terminal: Terminal): void {
  const [first, ...more] = attempts.map((one) => (one.key === after?.key ? after : one));
  if (first === undefined || after === null) return;
  const counts = countingWork([first, ...more]);
  if (counts.key === after.key) return;
  const total = counts.grade?.total ?? null;
  const stands = total === null ? (counts.grade?.outcome.is ?? "waiting") : `${formatPoints(total)} points`;
  terminal.err(`! attempt ${counts.attempt} counts for the student now: ${stands}`);
}

function idOf(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  const read = parseCount(text);
  if (read === null || read < 1) throw new UsageError(`${flag} must be the id of a mark, such as 12.`);
  return read;
}

/** Shows a colleague's mark that would be replaced, and the flag that replaces it. */
async function record(
  batches: TenantBatches,
  id: string,
  { marks }: BatchWork,
  said: NewGradeEvent,
): Promise<GradeEvent> {
  try {
    return await batches.record(id, said);
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    const standing = marks.find((mark) => mark.criterion === said.criterion && mark.fate.is === "stands");
    if ((code !== "STORE_GRADE_UNSEEN" && code !== "GRADE_UNSEEN") || standing === undefined) throw error;
    throw new CommandError(
      "OVERRIDE_UNSEEN",
      `${String(message)} Nothing was changed.`,
      `To replace that mark, add --replace ${standing.id}.`,
      { cause: error },
    );
  }
}

/** Only a mark that the person has seen can be replaced. */
function requireStanding({ marks }: BatchWork, criterion: string, id: number): void {
  const standing = marks.find((mark) => mark.criterion === criterion && mark.fate.is === "stands");
  if (standing?.id === id) return;
  throw new CommandError(
    "OVERRIDE_OTHER_MARK",
    standing === undefined
      ? `No person has marked ${criterion}, so mark ${id} cannot be replaced.`
      : `Mark ${id} does not count for ${criterion}. Mark ${standing.id} counts: ${standing.by} gave ${formatPoints(standing.points)} at ${standing.at} (${standing.reason}).`,
    standing === undefined ? "Remove --replace." : `To replace that mark: --replace ${standing.id}.`,
  );
}
