// What the parts of the jail adapter share: the means of this machine, and the record of a session that lives.

import type { LeaseKeeper } from "../lease.ts";
import type { JailHost } from "./detect-host.ts";
import type { Programs } from "./launch.ts";
import type { Holder, SessionDirectory, SessionRecord } from "./session-directory.ts";
import { isHolding } from "./session-processes.ts";

/** Uids of this range belong to nobody: above what distributions and container ranges hand out, below 2^31. */
export const FIRST_UID = 0x7000_0000;
export const UIDS = 0x0f00_0000;

/** How long a session may take to start, and a command waits beyond the longest one that may be ahead of it. */
export const START_MS = 20_000;
export const GRACE_MS = 300;

export interface Jail {
  readonly host: JailHost;
  readonly directory: SessionDirectory;
  readonly programs: Programs;
  readonly leases: LeaseKeeper;
  /** What the jails of this process show of /etc. */
  readonly etc: () => Promise<Buffer>;
}

export type LiveRecord = SessionRecord & { readonly holder: Holder };

export function isLive(record: SessionRecord | undefined): record is LiveRecord {
  return record?.holder !== undefined && isHolding(record.holder);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
