import type { Config } from "@markmill/config";
import type { Terminal } from "./command.ts";
import { openStack, type Stack } from "./stack/open-stack.ts";
import { requireConfig } from "./stack/require-config.ts";
import { terminalLog } from "./stack/stack-log.ts";

/** For commands that ask or tell the store and go. */
export async function withStack<Result>(
  terminal: Terminal,
  act: (stack: Stack, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = requireConfig(terminal);
  const stack = await openStack({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  try {
    return await act(stack, config);
  } finally {
    await stack.close();
  }
}
