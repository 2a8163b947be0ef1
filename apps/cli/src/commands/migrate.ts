import { type Command, exitCodes } from "../command.ts";
import { parseFlags } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const migrate: Command = {
  help: `Usage: markmill migrate

Update the schema of the database (DATABASE_URL, or the embedded one) and of the
queue to this version. Every command that opens the store also does this. Run it
once before a deployment starts many processes. It is safe to run it twice, and
from several machines at the same time.`,

  async run(args, terminal) {
    parseFlags(args, {});
    await withStack(terminal, async () => undefined, { make: true });
    terminal.err("the database is up to date");
    return exitCodes.success;
  },
};
