import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { presentEvents, presentRun, type Stack } from "@markmill/stack";
import type { RunDetail } from "@markmill/store";
import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { formatHistory, type RunRecord } from "../format-history.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const history: Command = {
  help: `Usage: markmill history RUN [--json] [--out DIR]

Export the full history of a run as Markdown (.wfh.md): its flowchart, its
variables, and every prompt, reply and command, with models, tokens, cost and
exit codes.

  --out DIR   write one file for this run and for each run it called, with links
  --json      print the events and activities of all these runs as one object

Without --out, only this run is printed to stdout.

Examples:
  markmill history last > review.wfh.md
  markmill history last --out histories/review`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { json: { type: "boolean" }, out: { type: "string" } });
    return await withStack(terminal, async (stack) => {
      const root = await findRun(stack.tenant, wanted);
      const records = await readTree(stack, root, values.out !== undefined || values.json === true);
      if (values.json === true) {
        const items = records.map(({ record: { run, history, calls, toolCalls } }) => ({
          ...presentRun(run, [], []),
          variables: run.variables,
          hits: run.hits,
          events: presentEvents(run.id, history.entries),
          activities: history.activities,
          calls: calls.map(({ key, attempt, model, request, reply, usage }) => ({
            activityId: key.activityId,
            callIndex: key.callIndex,
            attempt: attempt ?? 1,
            model,
            request,
            reply,
            promptTokens: usage.promptTokens,
            completionTokens: usage.completionTokens,
            nanodollars: usage.nanodollars,
          })),
          toolCalls,
        }));
        terminal.out(jsonText({ items, next: null }));
      } else if (values.out === undefined) {
        for (const { record } of records) terminal.out(formatHistory(record));
      } else {
        const folder = resolve(terminal.cwd, values.out);
        mkdirSync(folder, { recursive: true });
        for (const { file, record } of records) {
          writeFileSync(join(folder, file), `${formatHistory(record)}\n`);
          terminal.out(join(values.out, file));
        }
      }
      return exitCodes.success;
    });
  },
};

/** Reads the run and, if requested, the runs below it, in the order of their calls. */
async function readTree(stack: Stack, root: RunDetail, whole: boolean) {
  const { definitions, runs } = stack.tenant;
  const files = new Map<string, string>([[root.id, fileOf(0, root)]]);
  const records: { readonly file: string; readonly record: RunRecord }[] = [];
  const queue: RunDetail[] = [root];
  for (const run of queue) {
    const program = (await definitions.find(run.definitionHash))?.programs[run.program];
    if (program === undefined) throw new Error(`run ${run.id} has no program`);
    const callees = new Map<number, { file: string; runId: string }>();
    for (const child of await runs.children(run.id)) {
      const file = fileOf(files.size, child);
      files.set(child.id, file);
      if (child.parentActivityId !== null) callees.set(child.parentActivityId, { file, runId: child.id });
      const detail = whole ? await runs.get(child.id) : null;
      if (detail !== null) queue.push(detail);
    }
    records.push({
      file: files.get(run.id) ?? fileOf(0, run),
      record: {
        run,
        program,
        history: await runs.history(run.id),
        calls: await runs.calls(run.id),
        toolCalls: await runs.toolCalls(run.id),
        callees,
      },
    });
  }
  return records;
}

function fileOf(index: number, { name }: { readonly name: string }): string {
  const safe = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 60);
  return `${String(index + 1).padStart(2, "0")}_${safe}.wfh.md`;
}
