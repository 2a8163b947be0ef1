// Types and constants shared by the parts of the jail adapter: the features of this machine, and the record of a live session.

import type { LeaseKeeper } from "../lease.ts";
import type { JailHost } from "./detect-host.ts";
import type { Programs } from "./launch.ts";
import type { Holder, SessionDirectory, SessionRecord } from "./session-directory.ts";
import { isHolding } from "./session-processes.ts";

/** No account uses this range of uids: it is above the ranges of distributions and containers, and below 2^31. */
export const FIRST_UID = 0x7000_0000;
export const UIDS = 0x0f00_0000;

/** START_MS: how long a session may take to start. GRACE_MS: how much longer a command waits than the longest command before it. */
export const START_MS = 20_000;
export const GRACE_MS = 300;

export interface Jail {
  readonly host: JailHost;
  readonly directory: SessionDirectory;
  readonly programs: Programs;
  readonly leases: LeaseKeeper;
  /** The part of /etc that the jails of this process show. */
  readonly etc: () => Promise<Buffer>;
}

export type LiveRecord = SessionRecord & { readonly holder: Holder };

export function isLive(record: SessionRecord | undefined): record is LiveRecord {
  return record?.holder !== undefined && isHolding(record.holder);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
