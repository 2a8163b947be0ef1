import type { Config } from "@markmill/config";
import { hasDatabase, openStackOrServer, requireConfig, type Stack } from "@markmill/stack";
import type { Terminal } from "./command.ts";
import { terminalLog } from "./terminal-log.ts";

/**
 * For commands that ask or tell the store and go. They make no database: where there is none, nothing was run, and there is nothing to ask
 * or tell.
 */
export async function withStack<Result>(
  terminal: Terminal,
  act: (stack: Stack, config: Config) => Promise<Result>,
  options: WithoutProject<Result> = {},
): Promise<Result> {
  const config = requireConfig(terminal);
  if (options.empty !== undefined && config.server === null && !hasDatabase(config, terminal.cwd))
    return options.empty();
  const database = options.make === true ? {} : { database: "existing" as const };
  const stack = await openStackOrServer({ config, cwd: terminal.cwd, log: terminalLog(terminal), ...database });
  try {
    return await act(stack, config);
  } finally {
    await stack.close();
  }
}

interface WithoutProject<Result> {
  /** The answer where there is no database; absent: the command fails with PROJECT_NOT_FOUND. */
  readonly empty?: () => Result;
  /** The database is made where there is none. */
  readonly make?: true;
}
