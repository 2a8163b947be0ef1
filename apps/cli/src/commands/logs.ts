import { catchInterrupts, followRun, type Happening, presentEvents } from "@markmill/stack";
import type { HistoryEntry } from "@markmill/store";
import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { describeAftermath, describeHappening, layOut } from "../tell-event.ts";
import { withStack } from "../with-stack.ts";

export const logs: Command = {
  help: `Usage: markmill logs RUN [--follow] [--json]

List the events of a run and of the runs it called, one per line: time, node,
visit, result, failures with their reasons, and the end of the run.

  --follow   print new events until the run ends
  --json     print one JSON object per line

Examples:
  markmill logs last
  markmill logs last --follow
  markmill logs last --json | jq .type`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      follow: { type: "boolean", short: "f" },
      json: { type: "boolean" },
    });
    const interrupts = catchInterrupts();
    try {
      await withStack(terminal, async (stack) => {
        const run = await findRun(stack.tenant, wanted);
        for await (const { happened } of followRun(stack.tenant, stack.databaseUrl, run.id, interrupts.signal)) {
          if (values.json === true) for (const event of asEvents(happened)) terminal.out(jsonText(event, 0));
          else for (const happening of happened) terminal.out(asLines(happening).join("\n"));
          if (values.follow !== true) break;
        }
      });
      return interrupts.signal.aborted ? exitCodes.interrupted : exitCodes.success;
    } finally {
      interrupts.release();
    }
  },
};

const width = 160;

function asLines(happening: Happening): string[] {
  const { entry, depth, name } = happening;
  const line = describeHappening(happening);
  const started = entry.kind === "event" && entry.event.type === "run.started";
  const lines = [started ? { ...line, text: `started ${name}` } : line, ...describeAftermath(happening)];
  return lines.map((one) => {
    const time = one.at.toISOString().slice(0, 23).replace("T", " ");
    return `${time}  ${layOut(one, depth, width)}`;
  });
}

/** Shows events in the form of the API, each with its warnings and its decisions. */
function asEvents(happened: readonly Happening[]): readonly object[] {
  const groups: { readonly first: Happening; readonly entries: HistoryEntry[] }[] = [];
  for (const one of happened) {
    const last = groups.findLast(({ first }) => first.runId === one.runId);
    if (one.entry.kind === "warning" && last !== undefined) last.entries.push(one.entry);
    else groups.push({ first: one, entries: [one.entry] });
  }
  return groups.flatMap(({ first, entries }) => {
    const { checked, failed = [], again = null, phase = null, runId } = first;
    const ended = phase?.is === "ended" ? { status: phase.status, reason: phase.reason } : null;
    return presentEvents(runId, entries).map((event) => ({
      ...event,
      ...(checked.length === 0 ? {} : { checked }),
      ...(failed.length === 0 ? {} : { failed }),
      ...(again === null ? {} : { again: { attempt: again.ref.attempt, notBefore: again.notBefore } }),
      ...(ended === null ? {} : { ended }),
    }));
  });
}
