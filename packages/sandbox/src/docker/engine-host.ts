// One Docker engine: its address, its client, and what it can do. Invariants:
// 1. An engine that cannot enforce a limit serves no session; there is no weaker second choice.
// 2. Nothing of this process's environment (DOCKER_HOST, certificates) chooses the engine: the address does.

import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import { addressInvalid, engineUnreachable, limitUnsupported, translateEngineError } from "./translate-engine-error.ts";

/** A dead engine must not hold a job for the system's own connection timeout of minutes. */
const FACTS_MS = 10_000;

/** Below these, known escapes are open (runc CVE-2025-31133, -52565, -52881) or archive handling is unsafe. */
const floors = { engine: [29, 5, 1], runc: [1, 2, 8] } as const;

export interface EngineFacts {
  readonly cgroupVersion: "1" | "2";
  readonly cpus: number;
  /** It works in a user namespace (rootless, userns-remap): some settings of the kernel are closed to it. */
  readonly remapped: boolean;
  readonly engineVersion: string;
  readonly runcVersion: string;
  readonly runtimes: readonly string[];
  /** Sentences for doctor: versions below the floor. */
  readonly warnings: readonly string[];
}

export class EngineHost {
  readonly address: string;
  readonly docker: Docker;
  #facts: Promise<EngineFacts> | undefined;
  readonly #imageIds = new Map<string, Promise<string>>();

  private constructor(address: string, docker: Docker) {
    this.address = address;
    this.docker = docker;
  }

  /** The client's library is read here: its 200 files would cost every process that has no use for them a quarter of a second. */
  static async at(address: string): Promise<EngineHost> {
    const options = parseAddress(address);
    const { default: Client } = await import("dockerode");
    return new EngineHost(address, new Client(options));
  }

  /** The digest of what the name means on this engine; asked once, again only after a failure. */
  imageId(name: string): Promise<string> {
    const known = this.#imageIds.get(name);
    if (known !== undefined) return known;
    const asked = this.docker
      .getImage(name)
      .inspect()
      .then(({ Id }) => Id);
    this.#imageIds.set(name, asked);
    asked.catch(() => this.#imageIds.delete(name));
    return asked;
  }

  /** Asked once; asked again only after a failure. */
  facts(): Promise<EngineFacts> {
    this.#facts ??= readFacts(this).catch((error: unknown) => {
      this.#facts = undefined;
      throw error;
    });
    return this.#facts;
  }
}

export function parseAddress(address: string): Docker.DockerOptions {
  if (/^unix:\/\/\/[^\0]+$/.test(address)) return { socketPath: address.slice("unix://".length) };
  const match = /^(tcp|http|https):\/\/([A-Za-z0-9.-]+|\[[0-9a-f:]+\]):(\d{1,5})\/?$/.exec(address);
  if (match === null) throw addressInvalid(address);
  const [, scheme, host = "", port] = match;
  return { protocol: scheme === "https" ? "https" : "http", host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Of a local engine that is not there. */
export function isAbsentSocket(address: string): boolean {
  const { socketPath } = parseAddress(address);
  return socketPath !== undefined && !existsSync(socketPath);
}

async function readFacts(host: EngineHost): Promise<EngineFacts> {
  const late = new AbortController();
  const [info, version] = await Promise.race([
    Promise.all([host.docker.info() as Promise<EngineInfo>, host.docker.version() as Promise<EngineVersion>]),
    pause(FACTS_MS, undefined, { signal: late.signal }).then(() => {
      throw engineUnreachable(host.address, `no answer in ${FACTS_MS} ms`);
    }),
  ])
    .catch((error: unknown) => {
      throw translateEngineError(error, { host: host.address, act: "say what it is" });
    })
    .finally(() => late.abort());
  refuseWeakEngine(host.address, info);
  const runcVersion = version.Components?.find(({ Name }) => Name === "runc")?.Version ?? "";
  return {
    cgroupVersion: info.CgroupVersion === "2" ? "2" : "1",
    cpus: info.NCPU,
    remapped: info.SecurityOptions?.some((option) => /^name=(rootless|userns)\b/.test(option)) ?? false,
    engineVersion: info.ServerVersion,
    runcVersion,
    runtimes: Object.keys(info.Runtimes ?? {}),
    warnings: versionWarnings(host.address, info.ServerVersion, runcVersion),
  };
}

interface EngineInfo {
  readonly CgroupVersion?: string;
  readonly NCPU: number;
  readonly ServerVersion: string;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
  readonly SecurityOptions?: readonly string[];
  readonly MemoryLimit: boolean;
  readonly SwapLimit: boolean;
  readonly PidsLimit: boolean;
  readonly CpuCfsQuota: boolean;
}

interface EngineVersion {
  readonly Components?: readonly { readonly Name: string; readonly Version: string }[];
}

function refuseWeakEngine(address: string, info: EngineInfo): void {
  const missing = [
    info.MemoryLimit ? undefined : "memory",
    info.SwapLimit ? undefined : "swap",
    info.PidsLimit ? undefined : "processes",
    info.CpuCfsQuota ? undefined : "processor share",
    info.SecurityOptions?.some((option) => option.startsWith("name=seccomp")) ? undefined : "system call filter",
  ].filter((name) => name !== undefined);
  if (missing.length > 0) throw limitUnsupported(address, `it has no support for ${missing.join(", ")}`);
}

export function versionWarnings(address: string, engine: string, runc: string): string[] {
  const warnings: string[] = [];
  if (isBelow(engine, floors.engine)) {
    warnings.push(
      `Docker Engine ${engine} at ${address} is older than ${floors.engine.join(".")}: known escapes may be open. Upgrade it.`,
    );
  }
  if (isBelow(runc, floors.runc)) {
    warnings.push(
      `runc ${runc || "of unknown version"} at ${address} is older than ${floors.runc.join(".")}. Upgrade it.`,
    );
  }
  return warnings;
}

function isBelow(version: string, floor: readonly number[]): boolean {
  const parts = (/^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
  if (parts.length === 0) return true;
  for (const [index, least] of floor.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}
