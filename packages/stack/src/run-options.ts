/**
 * The options that a run requires from the process that performs it. They are stored with the run, so that every process that continues it
 * uses the same options: the commands of a run that was started with a jail never run unprotected in another terminal's worker.
 */
import { isRecord } from "@markmill/base/json";
import type { Json } from "@markmill/engine";
import type { SandboxChoice } from "@markmill/sandbox";

export interface RunOptions {
  readonly sandbox: SandboxChoice;
  /** The value of DEFAULT_MODEL where the run was started. */
  readonly defaultModel: string | null;
  /** The scripted model that answers instead of a real one: its text as a blob, and the loopback port where it is served. */
  readonly script: { readonly blob: string; readonly name: string; readonly port: number } | null;
}

const choices: readonly SandboxChoice[] = ["auto", "docker", "jail", "none"];

export function isSandboxChoice(text: string): text is SandboxChoice {
  return choices.some((choice) => choice === text);
}

export function writeRunOptions({ sandbox, defaultModel, script }: RunOptions): Json {
  return { sandbox, defaultModel, script: script === null ? null : { ...script } };
}

/** null: the run has no requirements for its worker. */
export function readRunOptions(json: Json): RunOptions | null {
  if (!isRecord(json) || typeof json.sandbox !== "string" || !isSandboxChoice(json.sandbox)) return null;
  const { sandbox, script } = json;
  const defaultModel = typeof json.defaultModel === "string" ? json.defaultModel : null;
  if (!isRecord(script)) return { sandbox, defaultModel, script: null };
  const { blob, name, port } = script;
  if (typeof blob !== "string" || typeof name !== "string" || typeof port !== "number") return null;
  return { sandbox, defaultModel, script: { blob, name, port } };
}

export function scriptUrl({ port }: { readonly port: number }): string {
  return `http://127.0.0.1:${port}/v1`;
}

export function scriptKey({ blob }: { readonly blob: string }): string {
  return `script-${blob}`;
}
