import { makeProject } from "@markmill/config";
import { type Command, exitCodes } from "../command.ts";
import { parseFlags } from "../parse-words.ts";

export const init: Command = {
  help: `Usage: markmill init

Makes the working directory a Markmill project: it gets a folder .markmill/, and
its .env counts whole from now on. Elsewhere a .env chooses no endpoint, no
database, no queue and no sandbox, for its author may be the student whose
folder it is. Say it only in a folder of your own.`,

  async run(args, terminal) {
    parseFlags(args, {});
    makeProject(terminal.cwd);
    terminal.err(`a Markmill project: ${terminal.cwd}`);
    return exitCodes.success;
  },
};
