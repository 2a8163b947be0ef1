/**
 * Proves that a container is alive and that its engine can start a program in it. The program runs as the keeper's user, which no command
 * can signal. This is needed because an engine may still report a container as running when its first process, and with it every exec, has
 * just been killed.
 */
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import type { EngineHost } from "./engine-host.ts";
import { isConflict, isNotFound } from "./translate-engine-error.ts";

export interface ContainerAt {
  readonly host: EngineHost;
  readonly container: Docker.Container;
}

/** false: the container has ended. Throws when the engine is in trouble. */
export async function isLiving(place: ContainerAt): Promise<boolean> {
  return await within(place.host, "start a program", proof(place));
}

async function proof({ container }: ContainerAt): Promise<boolean> {
  try {
    const exec = await container.exec({ Cmd: ["true"], AttachStdout: true, WorkingDir: "/" });
    const stream = await exec.start({ hijack: true, stdin: false });
    stream.resume();
    await finished(stream).catch(() => {});
    for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
      const { Running, ExitCode } = await exec.inspect();
      if (!Running && ExitCode !== null) return ExitCode === 0;
      await pause(wait);
    }
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

/**
 * Applies the time limit of one call to work that needs several engine calls. Otherwise the work could hang for ever although dockerd
 * answers every call.
 */
export async function within<T>(host: EngineHost, act: string, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = pause(host.bounds.callMs, undefined, { signal: done.signal }).then(() => {
    throw host.late(act);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
    work.catch(() => {});
    late.catch(() => {});
  }
}
