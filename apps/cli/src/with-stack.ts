import type { Config } from "@markmill/config";
import { openStackOrServer, requireConfig, type Stack } from "@markmill/stack";
import type { Terminal } from "./command.ts";
import { terminalLog } from "./terminal-log.ts";

/** For commands that ask or tell the store and go. */
export async function withStack<Result>(
  terminal: Terminal,
  act: (stack: Stack, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = requireConfig(terminal);
  const stack = await openStackOrServer({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  try {
    return await act(stack, config);
  } finally {
    await stack.close();
  }
}
