/** Workflows of tasks for tests: the fixtures, and small ones made of parts. */
import { readFileSync } from "node:fs";

export function fixture(name: string): Record<string, string> {
  const file = `${name}.json`;
  return { [file]: readFileSync(new URL(`../fixtures/tasks-json/${file}`, import.meta.url), "utf8") };
}

export interface Made {
  readonly config?: object;
  readonly tasks: readonly object[];
  readonly steps: readonly object[];
  readonly external_memory?: object;
  readonly return_value?: object;
}

/** With limits that do not matter, unless it says so. */
export function tasksFile({ config = {}, ...rest }: Made): Record<string, string> {
  return { "made.json": JSON.stringify({ config: { max_steps: 50, max_time: 60, ...config }, ...rest }) };
}

export const input = (name: string, type: string, key = "", required = true, more: object = {}) => ({
  name,
  value: { type, key, ...more },
  required,
});
export const output = (type: string, key: string, value = "__result") => ({ type, key, value });
export const task = (id: string, prompt: string, inputs: readonly object[] = [], outputs: readonly object[] = []) => ({
  id,
  operator: "generation",
  prompt,
  inputs,
  outputs,
});
