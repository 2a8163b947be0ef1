// One Docker engine: its address, its client and its capabilities. Invariants:
// 1. An engine that cannot enforce a limit serves no session; there is no weaker fallback.
// 2. Only the configured address chooses the engine, never this process's environment (DOCKER_HOST, certificates).
// 3. Every call has a bound (bound-calls.ts). An engine that does not answer does not delay the others.

import { existsSync } from "node:fs";
import type Docker from "dockerode";
import type { SandboxError } from "../sandbox-error.ts";
import { boundCalls } from "./bound-calls.ts";
import { type EngineBounds, engineBounds } from "./engine-bounds.ts";
import type { EnginePulse } from "./engine-pulse.ts";
import { addressInvalid, engineUnreachable, limitUnsupported, translateEngineError } from "./translate-engine-error.ts";

/** Older versions have known escapes (runc CVE-2025-31133, -52565, -52881) or unsafe archive handling. */
const floors = { engine: [29, 5, 1], runc: [1, 2, 8] } as const;

export interface EngineFacts {
  readonly cgroupVersion: "1" | "2";
  readonly cpus: number;
  /** The engine runs in a user namespace (rootless, userns-remap), so it cannot change some kernel settings. */
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
  readonly pulse: EnginePulse;
  readonly bounds: EngineBounds;
  #facts: Promise<EngineFacts> | undefined;
  readonly #imageIds = new Map<string, Promise<string>>();

  private constructor(address: string, docker: Docker, bounds: EngineBounds) {
    this.address = address;
    this.docker = docker;
    this.bounds = bounds;
    this.pulse = boundCalls(docker, address, bounds);
  }

  /** Loads the client's library here. Its 200 files would cost a quarter of a second in every process that does not need them. */
  static async at(address: string, bounds: Partial<EngineBounds> = {}): Promise<EngineHost> {
    const options = parseAddress(address);
    const { default: Client } = await import("dockerode");
    return new EngineHost(address, new Client(options), { ...engineBounds, ...bounds });
  }

  /** The error for an engine that answers pings but does not complete the call. */
  late(act: string): SandboxError {
    return engineUnreachable(this.address, `it did not ${act} in ${this.bounds.callMs} ms`);
  }

  /** The digest of the image with this name on this engine. It is read once, and again only after a failure. */
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

  /** Read once, and again only after a failure. */
  facts(): Promise<EngineFacts> {
    this.#facts ??= readFacts(this).catch((error: unknown) => {
      this.#facts = undefined;
      throw error;
    });
    return this.#facts;
  }
}

/** The engines that answer now. A single engine is not checked first: its calls wait for it, within their bounds. */
export async function answering(hosts: readonly EngineHost[]): Promise<readonly EngineHost[]> {
  if (hosts.length === 1) return hosts;
  const answers = await Promise.all(hosts.map(({ pulse }) => pulse.answers()));
  const those = hosts.filter((_, index) => answers[index]);
  const [first] = hosts;
  if (those.length === 0 && first !== undefined) throw first.pulse.unreachable();
  return those;
}

export function parseAddress(address: string): Docker.DockerOptions {
  if (/^unix:\/\/\/[^\0]+$/.test(address)) return { socketPath: address.slice("unix://".length) };
  const match = /^(tcp|http|https):\/\/([A-Za-z0-9.-]+|\[[0-9a-f:]+\]):(\d{1,5})\/?$/.exec(address);
  if (match === null) throw addressInvalid(address);
  const [, scheme, host = "", port] = match;
  return { protocol: scheme === "https" ? "https" : "http", host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Whether the address is a local socket that does not exist. */
export function isAbsentSocket(address: string): boolean {
  const { socketPath } = parseAddress(address);
  return socketPath !== undefined && !existsSync(socketPath);
}

async function readFacts(host: EngineHost): Promise<EngineFacts> {
  if (!(await host.pulse.answers())) throw host.pulse.unreachable();
  const [info, version] = await Promise.all([
    host.docker.info() as Promise<EngineInfo>,
    host.docker.version() as Promise<EngineVersion>,
  ]).catch((error: unknown) => {
    throw translateEngineError(error, { host: host.address, act: "say what it is" });
  });
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
