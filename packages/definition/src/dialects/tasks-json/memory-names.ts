/** The names of the cache, the run's input and the stacks in a program. */
import { builtInNames } from "../../names.ts";

/** The prefix of keys that would otherwise be a setting, RESULT, or another key with the prefix. */
const prefix = "cache.";

/** Each key gets its own variable. No key becomes a variable with a meaning in the engine. */
export function variableOf(key: string): string {
  return builtInNames.has(key) || key.startsWith("AI_") || key.startsWith(prefix) ? `${prefix}${key}` : key;
}

export function keyOf(variable: string): string {
  return variable.startsWith(prefix) ? variable.slice(prefix.length) : variable;
}
