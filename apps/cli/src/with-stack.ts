import type { Config } from "@markmill/config";
import { hasDatabase, openStackOrServer, requireConfig, type Stack } from "@markmill/stack";
import type { Terminal } from "./command.ts";
import { terminalLog } from "./terminal-log.ts";

/**
 * Opens the stack for commands that make a single read or change. They create no database: without a database there were no runs, so there
 * is nothing to read or change.
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
  /** The answer if there is no database. Absent: the command fails with PROJECT_NOT_FOUND. */
  readonly empty?: () => Result;
  /** Create the database if there is none. */
  readonly make?: true;
}
