/** Finds, lists and removes session containers on Docker engines. It recognizes them by their names and labels. */
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import type { ListedSession, SessionLabels } from "../port.ts";
import { labelNames, readLabels } from "./container-template.ts";
import { answering, type EngineHost } from "./engine-host.ts";
import { isConflict, isNotFound, translateEngineError } from "./translate-engine-error.ts";

export const SESSION_PREFIX = "markmill-session-";
/** The ids under which `list` shows a container that is not a session: a warm container, or one that never became a session. */
const UNNAMED = /^(pool|new)-[0-9a-f]{16}$/;
const REMOVE_MS = 20_000;

export interface MadeContainer {
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
}

/**
 * Finds the session's live container on any engine. An ended container is removed, since its workspace is lost. A session on an engine that
 * does not answer is lost, and is created again on one that answers. If both containers exist, the newer one is the session.
 */
export async function findSession(hosts: readonly EngineHost[], id: string): Promise<MadeContainer | undefined> {
  const asked = await answering(hosts);
  const answers = await Promise.allSettled(
    asked.map(async (host) => {
      const container = host.docker.getContainer(SESSION_PREFIX + id);
      try {
        const info = await container.inspect();
        if (info.State.Running) {
          const uid = Number(info.Config.Labels[labelNames.uid]);
          return { host, container: host.docker.getContainer(info.Id), uid, created: Date.parse(info.Created) };
        }
        await removeContainer(host, container);
        return undefined;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw translateEngineError(error, { host: host.address, act: "look for a session" });
      }
    }),
  );
  const failures = answers.filter((answer) => answer.status === "rejected");
  if (failures.length === answers.length) throw failures[0]?.reason;
  const [newest, ...older] = answers
    .flatMap((answer) => (answer.status === "fulfilled" && answer.value !== undefined ? [answer.value] : []))
    .sort((a, b) => b.created - a.created);
  await Promise.allSettled(older.map(({ host, container }) => removeContainer(host, container)));
  return newest;
}

const ours = { filters: JSON.stringify({ label: [labelNames.kind] }) };

export function listContainers(host: EngineHost): Promise<Docker.ContainerInfo[]> {
  return host.docker.listContainers({ all: true, ...ours });
}

export async function listHost(host: EngineHost): Promise<ListedSession[]> {
  try {
    const [containers, volumes] = await Promise.all([listContainers(host), host.docker.listVolumes(ours)]);
    const records = new Map((volumes.Volumes ?? []).map(({ Name, Labels }) => [Name, Labels ?? {}]));
    const sessions = containers.map((container): ListedSession => {
      const name = (container.Names[0] ?? "").replace(/^\//, "");
      const named = name.startsWith(SESSION_PREFIX);
      const labels = readLabels(records.get(name) ?? container.Labels);
      records.delete(name);
      const status = statusOf(container.State, named, isYoung(labels, host));
      if (named) return { id: name.slice(SESSION_PREFIX.length), labels, status };
      // An ended container is removed under its own name, because its intended session may run in another container by now.
      const meant = status === "dead" ? undefined : container.Labels[labelNames.session];
      return { id: meant ?? name.replace(/^markmill-/, ""), labels, status };
    });
    const orphans = [...records].map(
      ([name, labels]): ListedSession => ({
        id: name.slice(SESSION_PREFIX.length),
        labels: readLabels(labels),
        status: "dead",
      }),
    );
    return [...sessions, ...orphans];
  } catch (error) {
    throw translateEngineError(error, { host: host.address, act: "list its sessions" });
  }
}

/**
 * A young container that is created but not started will soon become a session, so the cleanup must not remove it. An older one will never
 * be started: its worker may have failed to remove it.
 */
function statusOf(state: string, named: boolean, young: boolean): ListedSession["status"] {
  if (state === "running") return named ? "live" : "starting";
  return state === "created" && !named && young ? "starting" : "dead";
}

/** Whether the worker that created it may still be preparing it. This takes three calls, one after the other. */
function isYoung({ created }: SessionLabels, { bounds }: EngineHost): boolean {
  return Date.now() - Date.parse(created) < 3 * bounds.callMs;
}

/** Returns whether there was a container to remove. */
export async function removeFromHost(host: EngineHost, id: string): Promise<boolean> {
  try {
    const containers = await host.docker.listContainers({
      all: true,
      filters: JSON.stringify({ label: [`${labelNames.session}=${id}`] }),
    });
    const names = [
      SESSION_PREFIX + id,
      ...(UNNAMED.test(id) ? [`markmill-${id}`] : []),
      ...containers.map(({ Id }) => Id),
    ];
    let found = false;
    for (const name of names) found = (await removeContainer(host, host.docker.getContainer(name))) || found;
    await host.docker
      .getVolume(SESSION_PREFIX + id)
      .remove()
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return found;
  } catch (error) {
    throw translateEngineError(error, { host: host.address, act: "remove a session" });
  }
}

/**
 * Returns when the container is gone; false when it did not exist. If a removal is already under way (the container ended itself), this
 * waits for it.
 */
export async function removeContainer(host: EngineHost, container: Docker.Container): Promise<boolean> {
  const giveUp = Date.now() + REMOVE_MS;
  for (;;) {
    try {
      await container.remove({ force: true, v: true });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || Date.now() > giveUp)
        throw translateEngineError(error, { host: host.address, act: "remove a container" });
      await pause(20);
    }
  }
}
