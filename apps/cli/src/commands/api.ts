import { apiRole } from "@markmill/api";
import { serveProcess } from "@markmill/stack";
import type { Command } from "../command.ts";
import { parseFlags } from "../parse-words.ts";

export const api: Command = {
  help: apiRole.help("markmill api"),

  run(args, terminal) {
    parseFlags(args, {});
    return serveProcess(apiRole, terminal);
  },
};
