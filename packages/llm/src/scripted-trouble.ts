/** Random faults: a script may set what share of all requests fails, and how. The same seed gives the same faults. */
import type { Answer, Script } from "./script.ts";
import type { Matched } from "./scripted-exchange.ts";

/** Every request draws two random numbers, so that one request's failure does not change the next request. */
export function troubleOf({ trouble }: Script): () => Matched | undefined {
  const chance = chanceOf(trouble?.seed ?? 0);
  return () => {
    if (trouble === undefined) return undefined;
    const [happens, which] = [chance(), chance()];
    const fault = trouble.kinds[Math.floor(which * trouble.kinds.length)];
    if (happens >= trouble.share || fault === undefined) return undefined;
    return {
      kind: "matched",
      rule: "trouble",
      n: 0,
      answer: { ...plainAnswer, fault },
      text: "This ends too early.",
      calls: [],
    };
  };
}

const plainAnswer: Answer = {
  replies: [],
  calls: [],
  reasoning: undefined,
  verbatim: true,
  usage: undefined,
  finish: "stop",
  delayMs: 0,
  fault: undefined,
  sticky: false,
};

/** mulberry32: small, and the same on every machine. */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
