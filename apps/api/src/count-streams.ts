/** Counts the open streams, because each costs a query every half second. */

import type { ApiSettings } from "./parts.ts";
import type { Principal } from "./principal.ts";
import { Refusal } from "./refusal.ts";

export interface Streams {
  readonly open: number;
  /** Throws a Refusal if there are too many. Returns a function that leaves the stream. */
  enter(principal: Principal | null): () => void;
}

export function countStreams({ mostStreams, mostStreamsOfTenant, mostStreamsEach }: ApiSettings): Streams {
  const by = new Map<string, number>();
  let open = 0;
  const add = (who: string, more: 1 | -1) => {
    const now = (by.get(who) ?? 0) + more;
    if (now === 0) by.delete(who);
    else by.set(who, now);
  };
  return {
    get open() {
      return open;
    },
    enter(principal) {
      const who = principal?.actor ?? "";
      // A tenant's limit covers all its keys, so more keys do not give more streams.
      const tenant = `tenant ${principal?.tenant ?? ""}`;
      const own = by.get(who) ?? 0;
      const theirs = by.get(tenant) ?? 0;
      if (open >= mostStreams) throw new Refusal("OVERLOADED", { detail: `${open} streams are already open.` });
      if (own >= mostStreamsEach)
        throw new Refusal("RATE_LIMITED", { detail: `${own} streams of this key are already open.` });
      if (theirs >= mostStreamsOfTenant) {
        throw new Refusal("RATE_LIMITED", { detail: `${theirs} streams of this tenant are already open.` });
      }
      open += 1;
      add(who, 1);
      add(tenant, 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        open -= 1;
        add(who, -1);
        add(tenant, -1);
      };
    },
  };
}
