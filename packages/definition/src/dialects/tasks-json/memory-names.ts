/** How the cache, the run's input and the stacks are called in a program. */
import { builtInNames } from "../../names.ts";

/** Put before keys that would otherwise be a setting, RESULT, or another key with the prefix. */
const prefix = "cache.";

/** Every key is another variable, and none is one that the engine gives a meaning. */
export function variableOf(key: string): string {
  return builtInNames.has(key) || key.startsWith("AI_") || key.startsWith(prefix) ? `${prefix}${key}` : key;
}

export function keyOf(variable: string): string {
  return variable.startsWith(prefix) ? variable.slice(prefix.length) : variable;
}
