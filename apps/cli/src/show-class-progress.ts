/**
 * Shows the progress of a class on stderr: if names are allowed, a line for each notable submission; on a screen, also a redrawn line
 * below.
 */
import { formatPoints } from "@markmill/classroom/gradebook";
import { type BatchLook, everyMember, type Stack } from "@markmill/stack";
import type { BatchWork } from "@markmill/store";
import { ended, progressLine } from "./class-progress.ts";
import type { Terminal } from "./command.ts";
import { fitWidth, oneLine } from "./fit-width.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;
const erase = "\r\u001b[2K";
/** Without a screen that can redraw, a summary line is printed at this interval. */
const plainMs = 15_000;

export interface ClassProgress {
  show(look: BatchLook): void;
  end(): void;
}

export async function showClassProgress(
  stack: Stack,
  batchId: string,
  terminal: Terminal,
  named = true,
): Promise<ClassProgress> {
  const members = named ? await everyMember(stack.tenant.batches, batchId) : [];
  const names = new Map(members.map(({ key, name }) => [key, name]));
  const said = new Set<string>();
  let latest: BatchLook | null = null;
  let frame = 0;
  let at = 0;
  let plainAt = stack.store.clock.now();
  const draw = () => {
    if (latest === null) return;
    frame += 1;
    const line = `${frames[frame % frames.length]} ${oneLine(progressLine(latest.batch))}`;
    terminal.draw(erase + fitWidth(line, terminal.columns - 1));
  };
  const timer = terminal.live ? setInterval(draw, frameMs) : null;
  timer?.unref();
  const say = (line: string) => terminal.err(terminal.live ? fitWidth(line, terminal.columns - 1) : line);
  return {
    show(look) {
      const { batch } = look;
      const all = batch.counts.works - batch.counts.notCounted;
      // Submissions are read a moment after they are counted, so each number is printed only once.
      at = Math.max(at, ended(batch) - look.ended.length);
      for (const work of look.ended) {
        at = Math.min(all, at + 1);
        // On a screen, successful submissions are only counted.
        if (!named || (terminal.live && wentWell(work))) continue;
        const who = work.by.map((key) => names.get(key) ?? key).join(", ");
        say(
          `${terminal.live ? "" : `[${at}/${all}] `}${oneLine(who)}${work.attempt > 1 ? ` (attempt ${work.attempt})` : ""}: ${describeEnd(work)}`,
        );
      }
      for (const { reason, works, held } of batch.troubles) {
        const line = `${works} ${works === 1 ? "submission waits" : "submissions wait"}: ${oneLine(reason)}${held ? " (until you resume the class)" : ""}`;
        if (said.has(reason)) continue;
        said.add(reason);
        say(`! ${line}`);
      }
      if (batch.budgetNearlySpent && !said.has("\0budget")) {
        said.add("\0budget");
        say("! 80 % of the budget is spent");
      }
      latest = look;
      if (terminal.live) draw();
      else if (stack.store.clock.now() - plainAt >= plainMs) {
        plainAt = stack.store.clock.now();
        say(progressLine(batch));
      }
    },
    end() {
      if (timer !== null) clearInterval(timer);
      if (terminal.live) terminal.draw(erase);
    },
  };
}

/** A row of a table of runs has a grade only if its workflow produced one. */
function isUngraded({ content, proposal }: BatchWork): boolean {
  return content.is === "taken" && content.start !== undefined && proposal === null;
}

function wentWell(work: BatchWork): boolean {
  const { grade, standing } = work;
  if (isUngraded(work)) return standing.is === "succeeded";
  return standing.is === "succeeded" && grade?.outcome.is === "graded" && grade.flags.length === 0;
}

function describeEnd(work: BatchWork): string {
  const { standing } = work;
  const grade = isUngraded(work) ? null : work.grade;
  const flags = [...new Set(grade?.flags.map(({ kind }) => kind) ?? [])];
  const marks = flags.length === 0 ? "" : ` ⚑ ${flags.join(", ")}`;
  if (grade !== null) {
    const { outcome } = grade;
    switch (outcome.is) {
      case "graded":
        return `${grade.total === null ? "no total" : formatPoints(grade.total)} of ${formatPoints(grade.most)}${marks}`;
      case "needs human":
        return `needs a human decision: ${oneLine(outcome.why.join("; "))}${marks}`;
      case "ungradable":
      case "grader error":
        return `${outcome.is}: ${oneLine(outcome.why)}${marks}`;
    }
  }
  switch (standing.is) {
    case "failed":
      return `failed: ${standing.failure === null ? standing.status : `${standing.failure.code} ${oneLine(standing.failure.message)}`}`;
    case "refused":
      return `failed: ${standing.code} ${oneLine(standing.message)}`;
    default:
      return standing.is;
  }
}
