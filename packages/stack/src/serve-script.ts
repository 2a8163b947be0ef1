/**
 * Serves the scripted model of a run on loopback. Each process that works for the run serves it at the port that the run names. Its API key
 * is the hash of its content: if another script is served at that port, it refuses the request instead of answering it.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Patience, patiently } from "@markmill/base";
import type { Script, ScriptedModel } from "@markmill/llm";
import type { Machine } from "@markmill/store/machine";
import { type RunOptions, scriptKey, scriptUrl } from "./run-options.ts";
import { WrongInput } from "./wrong-input.ts";

type ScriptRef = NonNullable<RunOptions["script"]>;

export interface ScriptFile {
  readonly name: string;
  readonly text: string;
  readonly script: Script;
}

const mostBytes = 8 * 1024 * 1024;

/** Reads and checks the script before a run is started. */
export async function readScript(file: string, cwd: string): Promise<ScriptFile> {
  const path = resolve(cwd, file);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) throw new WrongInput(`Script ${file} not found.`);
  if (stat.size > mostBytes) throw new WrongInput(`The script ${file} is larger than 8 MiB.`);
  return await parse(basename(file), readFileSync(path, "utf8"));
}

/** `port` 0: any free port. */
export async function serveScript(
  script: ScriptFile,
  port: number,
): Promise<ScriptedModel & { readonly port: number }> {
  const { startScriptedModel } = await import("@markmill/llm");
  const blob = createHash("sha256").update(script.text).digest("hex");
  const model = await startScriptedModel({ script: script.script, port, apiKey: scriptKey({ blob }) });
  return { ...model, port: Number(new URL(model.url).port) };
}

/** Serves scripts of runs while this process works. */
export interface ScriptKeeper {
  /** Resolves when the script is served, by this process or by another process that works for the run. */
  ensure(tenant: string, ref: ScriptRef): Promise<void>;
  close(): Promise<void>;
}

export function keepScripts(store: Machine): ScriptKeeper {
  const serving = new Map<string, Promise<ScriptedModel | null>>();
  const serve = async (tenant: string, ref: ScriptRef): Promise<ScriptedModel | null> => {
    const text = await store.blobs.load(tenant, ref.blob);
    return text === null ? null : await serveUnlessServed(await parse(ref.name, text.toString("utf8")), ref);
  };
  return {
    async ensure(tenant, ref) {
      const key = `${tenant} ${ref.port} ${ref.blob}`;
      const known = serving.get(key) ?? serve(tenant, ref);
      serving.set(key, known);
      // Another process serves it and can end at any time, or the attempt failed. Check again next time.
      if ((await known.catch(() => null)) === null) serving.delete(key);
    },
    async close() {
      for (const model of await Promise.allSettled(serving.values())) {
        if (model.status === "fulfilled") await model.value?.close();
      }
    },
  };
}

/** Another process of this run may be about to serve the script, so retry a few times. */
const rival: Patience = (_, { tries }) => (tries < 5 ? 200 : null);

/** null: another process serves it. */
async function serveUnlessServed(script: ScriptFile, ref: ScriptRef): Promise<ScriptedModel | null> {
  return patiently(async () => ((await answers(ref)) ? null : await serveScript(script, ref.port)), rival);
}

async function answers(ref: ScriptRef): Promise<boolean> {
  const headers = { authorization: `Bearer ${scriptKey(ref)}` };
  const models = `${scriptUrl(ref)}/models`;
  return await fetch(models, { headers, signal: AbortSignal.timeout(1_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

async function parse(name: string, text: string): Promise<ScriptFile> {
  const { formatFinding, parseScript } = await import("@markmill/llm");
  const reading = parseScript(text, name);
  if (!reading.ok) throw new WrongInput(`the script is invalid.\n${reading.findings.map(formatFinding).join("\n")}`);
  return { name, text, script: reading.script };
}
