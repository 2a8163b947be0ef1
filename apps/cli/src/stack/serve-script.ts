/**
 * The scripted model of a run, on loopback. Whoever works for the run serves it at the port the run names. Its key is its content's
 * hash: a server with another script at the same port refuses instead of answering for it.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { ScriptedModel } from "@markmill/llm";
import type { Store } from "@markmill/store";
import { CommandError, UsageError } from "../command.ts";
import { type RunOptions, scriptKey, scriptUrl } from "../run-options.ts";

type ScriptRef = NonNullable<RunOptions["script"]>;

export interface ScriptFile {
  readonly name: string;
  readonly text: string;
}

const mostBytes = 8 * 1024 * 1024;

/** Checked before anything is started. */
export async function readScript(file: string, cwd: string): Promise<ScriptFile> {
  const path = resolve(cwd, file);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) throw new UsageError(`There is no script ${file}.`);
  if (stat.size > mostBytes) throw new UsageError(`The script ${file} is larger than 8 MiB.`);
  const script = { name: basename(file), text: readFileSync(path, "utf8") };
  await parse(script);
  return script;
}

/** `port` 0: any free one. */
export async function serveScript(
  script: ScriptFile,
  port: number,
): Promise<ScriptedModel & { readonly port: number }> {
  const { startScriptedModel } = await import("@markmill/llm");
  const blob = createHash("sha256").update(script.text).digest("hex");
  const model = await startScriptedModel({ script: await parse(script), port, apiKey: scriptKey({ blob }) });
  return { ...model, port: Number(new URL(model.url).port) };
}

/** Serves a run's script again, unless somebody still does. null: somebody does. */
export async function serveScriptOf(store: Store, ref: ScriptRef): Promise<ScriptedModel | null> {
  const { loadBlob } = await import("@markmill/store");
  if (await answers(ref)) return null;
  const text = await loadBlob(store.database, ref.blob);
  if (text === null) {
    throw new CommandError("SCRIPT_MISSING", `The run's script ${ref.name} is no longer stored.`, "Start a new run.");
  }
  return await serveScript({ name: ref.name, text: text.toString("utf8") }, ref.port);
}

async function answers(ref: ScriptRef): Promise<boolean> {
  const headers = { authorization: `Bearer ${scriptKey(ref)}` };
  const models = `${scriptUrl(ref)}/models`;
  return await fetch(models, { headers, signal: AbortSignal.timeout(1_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

async function parse(script: ScriptFile) {
  const { formatFinding, parseScript } = await import("@markmill/llm");
  const reading = parseScript(script.text, script.name);
  if (!reading.ok) throw new UsageError(`the script is wrong.\n${reading.findings.map(formatFinding).join("\n")}`);
  return reading.script;
}
