/** Creates a container for a session on an engine that has room, and checks that the engine really set the limits. */
import type Docker from "dockerode";
import type { Limits } from "../limits.ts";
import type { ReadOnlyPlace, ScratchPlace } from "../port.ts";
import { containerTemplate, labelNames, pickUid } from "./container-template.ts";
import { answering, type EngineHost } from "./engine-host.ts";
import { listContainers, type MadeContainer, removeContainer } from "./engine-sessions.ts";
import { limitUnsupported, translateEngineError } from "./translate-engine-error.ts";

export interface ContainerWish {
  readonly name: string;
  readonly image: string;
  readonly limits: Limits;
  readonly labels: Record<string, string>;
  readonly lifetimeSeconds: number;
  readonly readOnly: readonly ReadOnlyPlace[];
  readonly scratch?: ScratchPlace | undefined;
  /** For example `runsc`. */
  readonly runtime: string | undefined;
  readonly apparmorProfile: string | undefined;
}

export async function createContainer(host: EngineHost, wish: ContainerWish): Promise<MadeContainer> {
  try {
    const [facts, siblings, image] = await Promise.all([host.facts(), listContainers(host), host.imageId(wish.image)]);
    const uid = pickUid(new Set(siblings.map(({ Labels }) => Number(Labels[labelNames.uid]))));
    const container = await host.docker.createContainer(
      containerTemplate(
        {
          ...wish,
          image,
          uid,
          labels: { [labelNames.kind]: "1", [labelNames.uid]: String(uid), ...wish.labels },
        },
        facts,
      ),
    );
    const made = { host, container, uid };
    try {
      await refuseDiscardedLimits(host, container);
      await container.start();
      return made;
    } catch (error) {
      await removeContainer(host, container).catch(() => {});
      throw error;
    }
  } catch (error) {
    throw translateEngineError(error, { host: host.address, act: "create a session", image: wish.image });
  }
}

export async function leastLoaded(hosts: readonly EngineHost[]): Promise<EngineHost> {
  const [only] = hosts;
  if (only !== undefined && hosts.length === 1) return only;
  const loads = await Promise.allSettled(
    (await answering(hosts)).map(async (host) => {
      const [facts, containers] = await Promise.all([host.facts(), listContainers(host)]);
      return { host, load: containers.length / facts.cpus };
    }),
  );
  const answered = loads.filter((load) => load.status === "fulfilled").map(({ value }) => value);
  const [best] = answered.sort((a, b) => a.load - b.load);
  if (best !== undefined) return best.host;
  const failed = loads.find((load) => load.status === "rejected");
  throw translateEngineError(failed?.reason, { host: only?.address ?? "", act: "count its sessions" });
}

/** Checks the limits that the engine has applied: an engine may drop a limit that it cannot set, with only a warning. */
async function refuseDiscardedLimits(host: EngineHost, container: Docker.Container): Promise<void> {
  const { HostConfig: set } = await container.inspect();
  const missing = [
    (set.Memory ?? 0) > 0 && set.MemorySwap === set.Memory ? undefined : "memory and swap",
    (set.PidsLimit ?? 0) > 0 ? undefined : "processes",
    (set.NanoCpus ?? 0) > 0 ? undefined : "processor share",
    set.ReadonlyRootfs === true ? undefined : "read-only root",
  ].filter((name) => name !== undefined);
  if (missing.length > 0) throw limitUnsupported(host.address, `it dropped ${missing.join(", ")}`);
}
