import { serveProcess, supervisorRole } from "@markmill/stack";
import type { Command } from "../command.ts";
import { parseFlags } from "../parse-words.ts";

export const supervisor: Command = {
  help: supervisorRole.help("markmill supervisor"),

  run(args, terminal) {
    parseFlags(args, {});
    return serveProcess(supervisorRole, terminal);
  },
};
