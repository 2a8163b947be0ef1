/** Snapshots in memory by root run, to avoid reading them again. Each is checked by its seal. The oldest is forgotten first. */
import type { Snapshot } from "@markmill/sandbox";
import type { Chain } from "@markmill/store/machine";

export interface RememberedSnapshot {
  readonly seal: string;
  readonly snapshot: Snapshot;
  readonly chain: Chain;
}

export interface RememberedSnapshots {
  remember(rootId: string, entry: RememberedSnapshot): void;
  recall(rootId: string): RememberedSnapshot | undefined;
  forget(rootId: string): void;
}

export function rememberSnapshots(most = 200): RememberedSnapshots {
  const known = new Map<string, RememberedSnapshot>();
  return {
    remember(rootId, entry) {
      known.delete(rootId);
      known.set(rootId, entry);
      for (const oldest of known.keys()) {
        if (known.size <= most) break;
        known.delete(oldest);
      }
    },
    recall: (rootId) => known.get(rootId),
    forget: (rootId) => void known.delete(rootId),
  };
}
