/**
 * The queues of a process that can do without them: what it rings while they are away is rung by the supervisor. They are opened in the
 * background, again and again until it succeeds; then they mend their connections themselves.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { QueueError, type Queues } from "@markmill/queue";

const againMs = 2_000;

export function queuesWhenThere(
  kind: Queues["kind"],
  open: () => Promise<Queues>,
  onAway: (error: unknown) => void,
): Queues {
  const closing = new AbortController();
  let opened: Queues | null = null;
  let told = false;

  async function opening(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        opened = await open();
        return;
      } catch (error) {
        if (!told) onAway(error);
        told = true;
      }
      await sleep(againMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }
  function there(): Queues {
    if (opened === null) throw new QueueError("QUEUE_UNREACHABLE", "The queue has not been reached yet.");
    return opened;
  }

  const first = opening();
  return {
    kind,
    ring: async (bells) => (opened === null ? bells : await opened.ring(bells)),
    serve: (...given) => there().serve(...given),
    live: async (bells) => await there().live(bells),
    forget: async (bells) => await there().forget(bells),
    counts: async () => await there().counts(),
    watch: (queue) => there().watch(queue),
    async close() {
      closing.abort();
      await first;
      await opened?.close();
    },
  };
}
