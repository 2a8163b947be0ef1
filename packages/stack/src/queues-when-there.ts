/**
 * The queues of a process that can do without them: the supervisor enqueues again the specs that it could not enqueue.
 *
 * W1  A server that is away is tried again in the background until it answers. Then the queues mend their connections themselves.
 * W2  A server that cannot keep the queue, or refuses the login, is an error of the start: waiting does not change it. A server that answers
 *     only later is reported instead, and tried again. Each try that fails is reported.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { mayPass } from "@markmill/base";
import { QueueError, type Queues } from "@markmill/queue";

const againMs = 2_000;

export async function queuesWhenThere(
  kind: Queues["kind"],
  open: () => Promise<Queues>,
  onAway: (error: unknown) => void,
): Promise<Queues> {
  const closing = new AbortController();
  let opened: Queues | null = null;

  async function tryToOpen(): Promise<unknown> {
    try {
      opened = await open();
      return null;
    } catch (error) {
      return error;
    }
  }
  /** Why it is away. */
  let away: unknown = null;
  function tell(error: unknown): void {
    away = error;
    if (error !== null) onAway(error);
  }
  async function keepTrying(): Promise<void> {
    while (!closing.signal.aborted && opened === null) {
      await sleep(againMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      tell(await tryToOpen());
    }
  }
  function there(): Queues {
    if (opened === null) throw new QueueError("QUEUE_UNREACHABLE", "The queue has not been reached yet.");
    return opened;
  }

  const error = await tryToOpen();
  if (error !== null) {
    if (!mayPass(error)) throw error;
    tell(error);
  }
  const trying = keepTrying();
  return {
    kind,
    enqueue: async (specs) => (opened === null ? specs : await opened.enqueue(specs)),
    serve: (...given) => there().serve(...given),
    live: async (specs) => await there().live(specs),
    forget: async (specs) => await there().forget(specs),
    counts: async () => await there().counts(),
    async probe() {
      if (opened === null) throw away ?? new QueueError("QUEUE_UNREACHABLE", "The queue has not been reached yet.");
      await opened.probe();
    },
    watch: (queue) => there().watch(queue),
    async close() {
      closing.abort();
      await trying;
      await opened?.close();
    },
  };
}
