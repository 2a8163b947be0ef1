/**
 * Limits the number of requests that a worker has at models. Also decides how many prompts the worker holds besides, so that all slots stay
 * busy while the next request is prepared and the last reply is stored.
 *
 * M1  At most `count` requests are at models. They are served in the order of asking.
 * M2  If models answer quickly, the next requests in line may reserve their budgets before a slot is free. Their number is the number of
 *     requests that begin during one reservation: an eighth of the slots, and more if models answer within half a second. They wait only
 *     for a moment. Otherwise a slot comes first: a waiting request then holds no budget that others could use. If its worker is killed, it
 *     leaves no reservation, which would count as spent.
 * M3  The prompts beyond the slots could begin on another worker. Their number is the number of prompts that a worker finishes during one
 *     request: the faster a model answers, the more, up to the number of slots. It is an eighth if models are slow or unknown, and zero
 *     with few slots.
 */
import type { ModelSlot } from "@markmill/llm";

export interface ModelSlots {
  readonly count: number;
  /** Resolves when it is this request's turn (M2). Rejects if the signal is aborted before. */
  take(signal?: AbortSignal): Promise<ModelSlot>;
}

/** The number of prompts that a worker holds if its models answer in this time (M3). */
export function inHand(slots: number, answerMs: number): number {
  if (slots < fewest) return slots;
  const passing = Math.ceil((slots * passingMs) / answerMs);
  return slots + Math.min(slots, Math.max(nextInLine(slots), passing));
}

/** The number of requests that reserve before a slot is free (M2): those that begin during one reservation. */
function ahead(slots: number, answerMs: number): number {
  if (slots < fewest) return 0;
  return Math.min(slots, Math.max(nextInLine(slots), Math.ceil((slots * reservingMs) / answerMs)));
}

const nextInLine = (slots: number) => Math.floor(slots / 8);
const fewest = 8;
/** The time of a prompt besides its request, on a busy machine: claiming, reading, reserving, storing and committing. */
const passingMs = 200;
/** The time of a reservation on such a machine. */
const reservingMs = 60;
/** The weight of a new reply in the average answer time. */
const newest = 1 / 32;
/** See M2. */
const quickMs = 1_000;

/** `onInHand`: called when the right number of prompts changes. */
export function createModelSlots(
  count: number,
  onInHand: (prompts: number) => void = () => undefined,
  now: () => number = () => performance.now(),
): ModelSlots {
  const line = createPlaces(() => count + ahead(count, answerMs));
  const slots = createPlaces(() => count);
  let answerMs = Number.POSITIVE_INFINITY;
  let told = inHand(count, answerMs);

  function learn(ms: number): void {
    answerMs = Number.isFinite(answerMs) ? answerMs + (ms - answerMs) * newest : ms;
    const right = inHand(count, answerMs);
    if (right !== told) onInHand(right);
    told = right;
  }

  return {
    count,
    async take(signal) {
      const leaveLine = await line.take(signal);
      let leaveSlot: (() => void) | null = null;
      let began: number | null = null;
      let ended: number | null = null;
      let over = false;
      const enter = async (entering: AbortSignal | undefined) => {
        const leave = await slots.take(entering);
        if (ended === null) leaveSlot = leave;
        else leave();
      };
      const arrived = () => {
        if (ended !== null) return;
        ended = now();
        leaveSlot?.();
        leaveLine();
      };
      try {
        if (answerMs > quickMs) await enter(signal);
      } catch (error) {
        leaveLine();
        throw error;
      }
      return {
        async begin(beginning) {
          if (leaveSlot === null) await enter(beginning);
          began = now();
        },
        arrived,
        over(answered) {
          arrived();
          if (over) return;
          over = true;
          if (answered && began !== null && ended !== null) learn(Math.max(1, ended - began));
        },
      };
    },
  };
}

interface Places {
  /** Serves in the order of asking. Resolves with the function that releases the slot. Rejects if the signal is aborted before. */
  take(signal?: AbortSignal): Promise<() => void>;
}

function createPlaces(count: () => number): Places {
  let taken = 0;
  const waiting = new Set<() => void>();

  function giveBack(): void {
    taken -= 1;
    for (const next of waiting) {
      if (taken >= count()) return;
      taken += 1;
      waiting.delete(next);
      next();
    }
  }

  return {
    take(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (taken < count()) {
        taken += 1;
        return Promise.resolve(giveBack);
      }
      return new Promise((resolve, reject) => {
        const turn = () => {
          signal?.removeEventListener("abort", leave);
          resolve(giveBack);
        };
        const leave = () => {
          if (waiting.delete(turn)) reject(signal?.reason);
        };
        waiting.add(turn);
        signal?.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
