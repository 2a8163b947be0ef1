import { type Command, exitCodes } from "../command.ts";
import { parseFlags } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const migrate: Command = {
  help: `Usage: markmill migrate

Brings the database (DATABASE_URL, else the embedded one) and the queue's tables
to the schema of this version. Every command that opens the store does so, too;
run it once before a deployment starts many processes. Safe to run twice and
from several machines at once.`,

  async run(args, terminal) {
    parseFlags(args, {});
    await withStack(terminal, async () => undefined, { make: true });
    terminal.err("the database is up to date");
    return exitCodes.success;
  },
};
