import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { UsageError } from "./command.ts";

/** Reads flags and exactly one argument: the run. */
export function parseRunArgs<const Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  const [wanted, ...more] = positionals;
  if (wanted === undefined || more.length > 0)
    throw new UsageError("Name one run: its id, a unique part of it, or 'last'.");
  return { values, wanted };
}

/** Reads flags and no other arguments. */
export function parseFlags<const Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  return parseArgs({ args: [...args], allowPositionals: false, options }).values;
}
