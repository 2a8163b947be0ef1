/**
 * How many requests a worker has at models at a time, and how many prompts in hand besides, so that the next request is ready and the last
 * reply stored while all slots are at their models.
 *
 * M1  At most `count` requests are at models. Who is served comes in the order of asking.
 * M2  Where models answer quickly, who comes next may reserve its budget before a slot is free, so many at a time as begin while one
 *     reserves: an eighth of the slots, more where models answer within half a second. They wait for a moment. Elsewhere a slot comes
 *     first: whoever waits holds no budget that others could use, and who is killed meanwhile leaves no reservation, which would count
 *     as spent.
 * M3  What is in hand beyond the slots could begin elsewhere. It is as many as a worker passes on while one request is under way: the
 *     quicker a model answers, the more, up to as many as slots; an eighth where models are slow, or not known yet; none with few slots.
 */
import type { ModelSlot } from "@markmill/llm";

export interface ModelSlots {
  readonly count: number;
  /** Resolves for who comes next (M2); rejects when the signal is aborted before. */
  take(signal?: AbortSignal): Promise<ModelSlot>;
}

/** Prompts that a worker has in hand whose models answer in so many milliseconds (M3). */
export function inHand(slots: number, answerMs: number): number {
  if (slots < fewest) return slots;
  const passing = Math.ceil((slots * passingMs) / answerMs);
  return slots + Math.min(slots, Math.max(nextInLine(slots), passing));
}

/** How many of them reserve before a slot is free (M2): as many as begin while one reserves. */
function ahead(slots: number, answerMs: number): number {
  if (slots < fewest) return 0;
  return Math.min(slots, Math.max(nextInLine(slots), Math.ceil((slots * reservingMs) / answerMs)));
}

const nextInLine = (slots: number) => Math.floor(slots / 8);
const fewest = 8;
/** What a prompt takes besides its request, on a machine that is busy: to be claimed, read, reserved, stored and committed. */
const passingMs = 200;
/** What a prompt takes to reserve, on such a machine. */
const reservingMs = 60;
/** A reply's share in what is known of how long they take. */
const newest = 1 / 32;
/** M2. */
const quickMs = 1_000;

/** `onInHand`: told when another number of prompts in hand is right. */
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
  /** Served in the order of asking. Resolves with what gives it back; rejects when the signal is aborted before. */
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
