/**
 * Decides from the engine's event log whether a container ended because its own processes used up its memory.
 *
 * E1  The answer is yes only if the engine recorded an out-of-memory kill shortly before the container's end, and no client asked the
 *     engine to end it.
 * E2  A missing answer, a missing record or a restarted engine means no: then the outcome of the command stays unknown.
 *     An engine keeps only its last 256 events, of all containers. On a busy engine the record of a kill may disappear within minutes.
 * E3  All times are the engine's own. They are not compared with the worker's clock.
 */
import type Docker from "dockerode";

/** The engine records an end within milliseconds; a loaded engine needs longer. */
const RECORD_MS = 2_000;
/** An out-of-memory kill may be recorded shortly after the end that it caused. */
const SETTLE_MS = 200;
const BEFORE_END_NS = 10e9;

export interface EngineEvent {
  readonly Action?: string;
  readonly timeNano?: number;
  readonly Actor?: { readonly Attributes?: { readonly signal?: string } };
}

const ENDING_SIGNALS: ReadonlySet<string | undefined> = new Set(["2", "3", "9", "15", undefined]);

/** Decides from the events of one container why it ended. null: it has not ended yet. */
export function judgeEnd(events: readonly EngineEvent[]): "memory" | "other" | null {
  const end = events.findLast(({ Action }) => Action === "die")?.timeNano;
  if (end === undefined) return null;
  const near = events.filter(({ timeNano = 0 }) => Math.abs(end - timeNano) < BEFORE_END_NS);
  const asked = near.some(
    ({ Action, Actor }) => Action === "stop" || (Action === "kill" && ENDING_SIGNALS.has(Actor?.Attributes?.signal)),
  );
  return !asked && near.some(({ Action }) => Action === "oom") ? "memory" : "other";
}

export async function endedByMemory(docker: Docker, container: string): Promise<boolean> {
  const events: EngineEvent[] = [];
  const giveUp = AbortSignal.timeout(RECORD_MS);
  try {
    const stream = await docker.getEvents({
      // Without `since` the engine reports no past events. Without `until` it waits for more events, so the two clocks need not agree.
      since: 1,
      filters: { container: [container], event: ["oom", "die", "kill", "stop"] },
      abortSignal: giveUp,
    });
    giveUp.addEventListener("abort", () => (stream as NodeJS.ReadableStream & { destroy(): void }).destroy());
    let text = "";
    let settled: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      stream.on("data", (chunk: Buffer) => {
        text += chunk.toString("utf8");
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) if (line !== "") events.push(JSON.parse(line) as EngineEvent);
        if (judgeEnd(events) !== null) settled ??= setTimeout(resolve, SETTLE_MS);
      });
      stream.on("end", resolve).on("close", resolve).on("error", resolve);
    });
    clearTimeout(settled);
    (stream as NodeJS.ReadableStream & { destroy(): void }).destroy();
  } catch {
    return false;
  }
  return judgeEnd(events) === "memory";
}
