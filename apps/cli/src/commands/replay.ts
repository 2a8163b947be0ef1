import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { fitWidth } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const replay: Command = {
  help: `Usage: markmill replay RUN [--json]

Folds the events of a run, and of the runs it called, once more, offline, and
compares the outcome with what is stored. Nothing is asked, executed or
changed. With MARKMILL_URL the server folds, which has the run's environment.

Exit codes: 0 identical, 1 there are differences.

Example:
  markmill replay last`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { json: { type: "boolean" } });
    return await withStack(terminal, async ({ tenant }) => {
      const found = await findRun(tenant, wanted);
      const replays: {
        id: string;
        name: string;
        events: number;
        identical: boolean;
        differences: readonly object[];
      }[] = [];
      const queue: { readonly id: string; readonly name: string }[] = [found];
      for (const run of queue) {
        const { events, differences } = await tenant.runs.replay(run.id);
        replays.push({ id: run.id, name: run.name, events, identical: differences.length === 0, differences });
        if (values.json !== true) {
          const verdict = differences.length === 0 ? "identical" : `${differences.length} differences`;
          terminal.out(`${verdict}: ${run.id} ${run.name} (${events} events)`);
          for (const { path, folded, stored } of differences.slice(0, 20)) {
            terminal.out(fitWidth(`  ${path}: folded ${folded}, stored ${stored}`, 200));
          }
        }
        queue.push(...(await tenant.runs.children(run.id)));
      }
      const identical = replays.every(({ differences }) => differences.length === 0);
      if (values.json === true) terminal.out(jsonText({ identical, items: replays, next: null }));
      return identical ? exitCodes.success : exitCodes.failed;
    });
  },
};
