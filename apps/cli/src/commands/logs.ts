import { catchInterrupts, followRun, type Happening } from "@markmill/stack";
import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { describeAftermath, describeHappening, layOut } from "../tell-event.ts";
import { withStack } from "../with-stack.ts";

export const logs: Command = {
  help: `Usage: markmill logs RUN [--follow] [--json]

One line per event of a run and the runs it called: time, node, visit, what came
of it, every failure with its reason, and how it ended. --json: one object per
line.

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
          for (const happening of happened)
            terminal.out(values.json === true ? asJson(happening) : asLines(happening).join("\n"));
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

function asJson({ entry, checked, failed = [], again = null, phase = null, runId }: Happening): string {
  const { at, seq } = entry;
  if (entry.kind === "warning") return jsonText({ runId, seq, at, type: "warning", ...entry.warning }, 0);
  const ended = phase?.is === "ended" ? { status: phase.status, reason: phase.reason } : null;
  return jsonText(
    {
      ...{ runId, seq, ...entry.event, at },
      ...(checked.length === 0 ? {} : { checked }),
      ...(failed.length === 0 ? {} : { failed }),
      ...(again === null ? {} : { again: { attempt: again.ref.attempt, notBefore: again.notBefore } }),
      ...(ended === null ? {} : { ended }),
    },
    0,
  );
}
