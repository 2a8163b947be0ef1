import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { fitWidth } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const replay: Command = {
  help: `Usage: markmill replay RUN [--json]

Verify a run against its recorded events. Markmill computes the state of the run
and of the runs it called again from their events, and compares it with the
stored state. It calls no model, runs no command and changes nothing. With
MARKMILL_URL, the server does this.

Exit codes: 0 identical, 1 different.

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
            terminal.out(fitWidth(`  ${path}: computed ${folded}, stored ${stored}`, 200));
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
