/**
 * Describes each configured Docker engine for the operator: whether it answers, its versions, images and free space, and whether its
 * isolation holds. An engine that is down or hangs does not hide the others.
 */
import { statfs } from "node:fs/promises";
import type { SandboxError } from "../sandbox-error.ts";
import { judgeSelfTest, runSelfTest } from "../self-test.ts";
import { oldEngine, type ThinWall } from "../thin-walls.ts";
import { createDockerSandbox, type DockerSandboxOptions } from "./docker-sandbox.ts";
import { type EngineFacts, EngineHost, parseAddress } from "./engine-host.ts";
import { isNotFound, translateEngineError, whyOf } from "./translate-engine-error.ts";

export interface EngineStanding {
  readonly host: string;
  /** The address is a valid engine address. If one address is invalid, no engine is used. */
  readonly wellFormed: boolean;
  /** Why the engine cannot be used. null: it answers and can enforce the limits of sessions. */
  readonly problem: SandboxError | null;
  /** Its versions. null if the engine cannot be used. */
  readonly facts: EngineFacts | null;
  readonly thinWalls: readonly ThinWall[];
  /** Every image of the allow-list. Images are never pulled, so a missing image can never be used. */
  readonly images: readonly { readonly name: string; readonly present: boolean }[];
  readonly storage: {
    /** The engine's data root, as the engine names it. */
    readonly place: string;
    readonly driver: string;
    /** null: the data root is not visible from here, for example on another machine. */
    readonly freeBytes: number | null;
  } | null;
  /** null: the self-test was not requested, or there is no image to test with. */
  readonly selfTest: { readonly safe: boolean; readonly probes: number; readonly failures: readonly string[] } | null;
}

export async function describeEngines(
  options: Pick<DockerSandboxOptions, "hosts" | "images" | "runtime" | "apparmorProfile" | "bounds">,
  { selfTest }: { readonly selfTest: boolean },
): Promise<readonly EngineStanding[]> {
  return await Promise.all(options.hosts.map((host) => describeEngine({ ...options, hosts: [host] }, host, selfTest)));
}

async function describeEngine(
  options: DockerSandboxOptions,
  address: string,
  selfTest: boolean,
): Promise<EngineStanding> {
  const nothing = { facts: null, thinWalls: [], images: [], storage: null, selfTest: null };
  let wellFormed = false;
  try {
    const host = await EngineHost.at(address, options.bounds);
    wellFormed = true;
    try {
      const facts = await host.facts();
      const [images, storage] = await Promise.all([imagesOf(host, options.images), storageOf(host)]);
      const [image] = images.filter(({ present }) => present);
      const tested = selfTest && image !== undefined ? await test({ ...options, images: [image.name] }) : null;
      const thinWalls = facts.warnings.length === 0 ? [] : [oldEngine(facts.warnings)];
      return { host: address, wellFormed, problem: null, facts, thinWalls, images, storage, selfTest: tested };
    } finally {
      host.pulse.close();
    }
  } catch (error) {
    const problem = translateEngineError(error, { host: address, act: "say how it stands" });
    return { host: address, wellFormed, problem, ...nothing };
  }
}

async function imagesOf(host: EngineHost, names: readonly string[]): Promise<EngineStanding["images"]> {
  return await Promise.all(
    names.map(async (name) => {
      const present = await host.imageId(name).then(
        () => true,
        (error: unknown) => {
          if (isNotFound(error)) return false;
          throw error;
        },
      );
      return { name, present };
    }),
  );
}

async function storageOf(host: EngineHost): Promise<EngineStanding["storage"]> {
  const { DockerRootDir: place, Driver: driver } = (await host.docker.info()) as Record<string, string>;
  if (place === undefined || driver === undefined) return null;
  const isLocal = parseAddress(host.address).socketPath !== undefined;
  const room = isLocal ? await statfs(place).catch(() => null) : null;
  return { place, driver, freeBytes: room === null ? null : room.bavail * room.bsize };
}

async function test(options: DockerSandboxOptions): Promise<EngineStanding["selfTest"]> {
  const sandbox = await createDockerSandbox(options);
  try {
    const report = await runSelfTest(sandbox, {
      ...(options.images[0] === undefined ? {} : { image: options.images[0] }),
    });
    return { ...judgeSelfTest(report), probes: report.probes.length };
  } catch (error) {
    return { safe: false, probes: 0, failures: [whyOf(error)] };
  } finally {
    await sandbox.close();
  }
}
