/** Provides the scripted model of a class, if the class uses one instead of a real model. */
import type { Json } from "@markmill/engine";
import { keepScript, type RunOptions, readRunOptions, type ScriptFile, type Stack, serveScript } from "@markmill/stack";

/** A continued class keeps the port of its script, because its runs contain it. */
export async function scriptFor(
  stack: Stack,
  script: ScriptFile | null,
  options: Json | null,
): Promise<{ readonly ref: RunOptions["script"]; readonly stop: () => Promise<void> }> {
  if (script === null) return { ref: null, stop: async () => {} };
  const before = options === null ? null : (readRunOptions(options)?.script ?? null);
  if (before !== null) {
    const kept = await keepScript(stack, script, before.port);
    // The worker of the runs serves it at that port.
    if (kept.blob === before.blob) return { ref: kept, stop: async () => {} };
  }
  const served = await serveScript(script, 0);
  return { ref: await keepScript(stack, script, served.port), stop: () => served.close() };
}
