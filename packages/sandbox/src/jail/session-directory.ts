// The record of a jail on disk, so that any worker on the host can serve, list and remove the jail. Invariants:
// 1. `<root>/<id>` appears complete, by one rename, with its labels in it. So the cleanup can judge it, even if another process created it.
// 2. A session without a recorded holder is starting while the process that creates it is alive, and dead afterwards.
// 3. The command lock names its owner and the processes that existed before. So after a worker's crash in the middle of a command, another
//    worker can clean up.

import { randomBytes } from "node:crypto";
import { link, mkdir, readdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, ownIdentity, type ProcessIdentity } from "@markmill/base";
import type { Limits } from "../limits.ts";
import type { SessionLabels } from "../port.ts";
import type { SessionCgroup } from "./cgroup.ts";

export interface SessionRecord {
  readonly id: string;
  readonly labels: SessionLabels;
  readonly limits: Limits;
  readonly number: number;
  /** The uid on the host that the jail runs as. Undefined when the worker is an ordinary user: then it is the worker's own uid. */
  readonly uid?: number;
  readonly cgroup?: SessionCgroup;
  readonly maker: ProcessIdentity;
  readonly holder?: Holder;
}

export interface Holder extends ProcessIdentity {
  /** The link text of its pid namespace. */
  readonly pidNamespace: string;
}

export interface CommandLock {
  /** Only the owner of the token may release the lock: a worker that has lost it may wake up late. */
  readonly token: string;
  readonly owner: ProcessIdentity;
  /** Pids inside the jail. */
  readonly before: readonly ProcessIdentity[];
}

const TEMPORARY = ".making-";

export class SessionDirectory {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  pathOf(id: string): string {
    return join(this.#root, id);
  }

  eventsPath(id: string): string {
    return join(this.#root, id, "events");
  }

  /** False when the session exists already. */
  async claim(record: SessionRecord): Promise<boolean> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const temporary = join(this.#root, `${TEMPORARY}${process.pid}-${randomBytes(6).toString("hex")}`);
    await mkdir(temporary, { mode: 0o700 });
    await writeFile(join(temporary, "session.json"), JSON.stringify(record), { mode: 0o600 });
    try {
      await rename(temporary, this.pathOf(record.id));
      return true;
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTEMPTY" || code === "EEXIST") return false;
      throw error;
    }
  }

  async write(record: SessionRecord): Promise<void> {
    const temporary = join(this.pathOf(record.id), `session.${randomBytes(6).toString("hex")}`);
    await writeFile(temporary, JSON.stringify(record), { mode: 0o600 });
    await rename(temporary, join(this.pathOf(record.id), "session.json"));
  }

  async read(id: string): Promise<SessionRecord | undefined> {
    return await readJson<SessionRecord>(join(this.pathOf(id), "session.json"));
  }

  async list(): Promise<SessionRecord[]> {
    const names = await readdir(this.#root).catch(() => [] as string[]);
    const records = await Promise.all(
      names.map(async (name) => {
        if (!name.startsWith(TEMPORARY)) return await this.read(name);
        await this.#removeIfAbandoned(name);
        return undefined;
      }),
    );
    return records.filter((record) => record !== undefined);
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { recursive: true, force: true });
  }

  /** Returns undefined if this call took the lock; otherwise the current lock. */
  async tryLock(id: string, before: readonly ProcessIdentity[], token: string): Promise<CommandLock | undefined> {
    const path = join(this.pathOf(id), "command.lock");
    const temporary = `${path}.${randomBytes(6).toString("hex")}`;
    const lock: CommandLock = { token, owner: ownIdentity(), before };
    await writeFile(temporary, JSON.stringify(lock), { mode: 0o600 });
    try {
      await link(temporary, path);
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return (await readJson<CommandLock>(path)) ?? { token: "", owner: ownIdentity(), before: [] };
    } finally {
      await unlink(temporary).catch(() => {});
    }
  }

  async unlock(id: string, token: string): Promise<void> {
    const lock = await readJson<CommandLock>(join(this.pathOf(id), "command.lock"));
    if (lock?.token === token) await this.breakLock(id);
  }

  /** Removes the lock, even if another process owns it. */
  async breakLock(id: string): Promise<void> {
    await unlink(join(this.pathOf(id), "command.lock")).catch(() => {});
  }

  async #removeIfAbandoned(name: string): Promise<void> {
    const maker = Number(/^\.making-(\d+)-/.exec(name)?.[1]);
    if (maker === process.pid) return;
    const record = await readJson<SessionRecord>(join(this.#root, name, "session.json"));
    if (record === undefined || isAlive(record.maker)) return;
    await rm(join(this.#root, name), { recursive: true, force: true });
  }
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}
