import { serveProcess, workerRole } from "@markmill/stack";
import type { Command } from "../command.ts";
import { parseFlags } from "../parse-words.ts";

export const worker: Command = {
  help: workerRole.help("markmill worker"),

  run(args, terminal) {
    parseFlags(args, {});
    return serveProcess(workerRole, terminal);
  },
};
