import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { followRun, type Happening } from "../follow-run.ts";
import { catchInterrupts } from "../interrupts.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { describeHappening, layOut } from "../tell-event.ts";
import { withStack } from "../with-stack.ts";

export const logs: Command = {
  help: `Usage: markmill logs RUN [--follow] [--json]

One line per event of a run and the runs it called: time, node, visit, what
came of it. --json: one object per line.

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
        const run = await findRun(stack.store, wanted);
        for await (const { happened } of followRun(stack.store, stack.databaseUrl, run.id, interrupts.signal)) {
          for (const happening of happened) terminal.out(values.json === true ? asJson(happening) : asLine(happening));
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

function asLine(happening: Happening): string {
  const { entry, depth, name } = happening;
  const line = describeHappening(happening);
  const started = entry.kind === "event" && entry.event.type === "run.started";
  const time = line.at.toISOString().slice(0, 23).replace("T", " ");
  return `${time}  ${layOut(started ? { ...line, text: `started ${name}` } : line, depth, width)}`;
}

function asJson({ entry, checked, runId }: Happening): string {
  const { at, seq } = entry;
  return jsonText(
    entry.kind === "warning"
      ? { runId, seq, at, type: "warning", ...entry.warning }
      : { runId, seq, ...entry.event, at, ...(checked.length === 0 ? {} : { checked }) },
    0,
  );
}
