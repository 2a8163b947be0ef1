/**
 * Reads a file of a session for a prompt once and keeps that text. A workflow that the model calls may change the file before the prompt
 * continues, but the question must stay the one that was answered (I3). So the text is stored as a row among the tool calls.
 */
import type { ToolPorts } from "./perform-tools.ts";
import { done, type Performed } from "./performed.ts";

/** Before all other tool calls of an activity. */
const fileIndex = -3;

export async function readOnce(ports: ToolPorts, path: string, read: () => Promise<Performed>): Promise<Performed> {
  const place = { callIndex: fileIndex, requestHash: "", position: 0 };
  const call = { name: "file", arguments: JSON.stringify({ path }), safe: true, again: true };
  const begun = await ports.begin(place, call);
  if (begun.is === "done") return done({ kind: "done", files: { [path]: begun.result } });
  if (begun.is === "overtaken") return { did: "leave" };
  const since = performance.now();
  const performed = await read();
  const text =
    performed.did === "succeed" && performed.outcome.kind === "done" ? performed.outcome.files?.[path] : undefined;
  if (text !== undefined) await ports.end(place, { result: text, ms: performance.now() - since });
  return performed;
}
