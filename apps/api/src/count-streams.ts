/** How many streams are open: they cost a query every half second each. */

import type { ApiSettings } from "./parts.ts";
import type { Principal } from "./principal.ts";
import { Refusal } from "./refusal.ts";

export interface Streams {
  readonly open: number;
  /** Throws a Refusal where there are too many. Returns how to leave. */
  enter(principal: Principal | null): () => void;
}

export function countStreams({ mostStreams, mostStreamsEach }: ApiSettings): Streams {
  const by = new Map<string, number>();
  let open = 0;
  return {
    get open() {
      return open;
    },
    enter(principal) {
      const who = principal?.actor ?? "";
      const own = by.get(who) ?? 0;
      if (open >= mostStreams) throw new Refusal("OVERLOADED", { detail: `${open} streams are open.` });
      if (own >= mostStreamsEach) throw new Refusal("RATE_LIMITED", { detail: `${own} streams of this key are open.` });
      open += 1;
      by.set(who, own + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        open -= 1;
        const rest = (by.get(who) ?? 1) - 1;
        if (rest === 0) by.delete(who);
        else by.set(who, rest);
      };
    },
  };
}
