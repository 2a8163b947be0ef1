// The sandbox on Docker engines: one container per session. Invariants:
// 1. A container gets the session's name only after its files are unpacked. The rename is the commit, and the engine lets only one rename
//    win. So an attached session is always complete.
// 2. A session does not need its worker. The engine stores its name and labels, and the container ends itself when its time is over, or
//    soon after the last worker that knew it has crashed.
// 3. Only allow-listed images run, and none is pulled. A name means the image it referred to when this process first used it: moving a tag
//    later brings no untested image in.

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { checkSessionId, checkSessionSpec } from "../check-spec.ts";
import { LeaseKeeper } from "../lease.ts";
import { checkLimits, type Limits } from "../limits.ts";
import { packFiles, packTrees } from "../pack-files.ts";
import {
  type ListedSession,
  readOnlyPlaces,
  type Sandbox,
  type Session,
  type SessionLabels,
  type SessionSpec,
} from "../port.ts";
import { initialState } from "../session-script.ts";
import { oldEngine, type ThinWall } from "../thin-walls.ts";
import { labelNames, labelsOf } from "./container-template.ts";
import { createContainer, leastLoaded } from "./create-container.ts";
import { DockerSession, feedFiles, feedTrees } from "./docker-session.ts";
import { endedByMemory } from "./ended-by-memory.ts";
import type { EngineBounds } from "./engine-bounds.ts";
import { answering, type EngineFacts, EngineHost, isAbsentSocket } from "./engine-host.ts";
import {
  findSession,
  listHost,
  type MadeContainer,
  removeContainer,
  removeFromHost,
  SESSION_PREFIX,
} from "./engine-sessions.ts";
import { LEASE_SIGNAL } from "./keeper-script.ts";
import { Launcher } from "./launcher.ts";
import {
  addressInvalid,
  engineUnreachable,
  imageRefused,
  isConflict,
  isNotFound,
  translateEngineError,
} from "./translate-engine-error.ts";
import { type WarmContainer, WarmPool } from "./warm-pool.ts";

const NEW_PREFIX = "markmill-new-";
const POOL_PREFIX = "markmill-pool-";
const CLOSE_MS = 5_000;
const POOL_MAX_AGE_MS = 30 * 60_000;
/**
 * The longest life of a pool container if all workers have crashed. Once a session claims the container, the record holds the session's own
 * deadline.
 */
const POOL_LIFETIME_SECONDS = 24 * 3600;

export interface DockerSandboxOptions {
  /** Engines, as unix:///path, tcp://host:port, http:// or https://. */
  readonly hosts: readonly string[];
  /** The allow-list; the first is the default. Prefer name@sha256 digests. */
  readonly images: readonly string[];
  /** For example `runsc`. */
  readonly runtime?: string;
  readonly apparmorProfile?: string;
  readonly pool?: WarmPoolWish;
  /** Overrides the default bounds, for tests. */
  readonly bounds?: Partial<EngineBounds>;
}

export interface WarmPoolWish {
  readonly size: number;
  /** The pool serves only sessions with exactly these limits and this image. */
  readonly limits: Limits;
  readonly image?: string;
  readonly labels: Pick<SessionLabels, "app" | "worker">;
}

export interface DockerDescription {
  readonly host: string;
  readonly facts: EngineFacts | undefined;
  /** Why there are no facts. */
  readonly problem?: string;
}

export interface DockerSandbox extends Sandbox {
  readonly kind: "docker";
  /** Lists every engine with its versions and warnings, or the reason why it cannot be used. For doctor. */
  describe(): Promise<readonly DockerDescription[]>;
  /** The number of warm containers that are ready now. */
  warm(): number;
}

/** Throws a SandboxError when no engine answers or none can enforce the limits. */
export async function createDockerSandbox(options: DockerSandboxOptions): Promise<DockerSandbox> {
  const [first] = options.hosts;
  if (first === undefined) throw addressInvalid("");
  if (options.images.length === 0) throw imageRefused("(none)", []);
  // Without an engine on this machine, the client's library is not loaded at all. This is how `auto` falls back to the jail.
  if (options.hosts.every(isAbsentSocket)) throw engineUnreachable(first, `connect ENOENT ${first}`);
  const hosts = await Promise.all(options.hosts.map((address) => EngineHost.at(address, options.bounds)));
  await Promise.any(hosts.map((host) => host.facts())).catch((error: AggregateError) => {
    for (const host of hosts) host.pulse.close();
    throw error.errors[0];
  });
  const sandbox = new EngineSandbox(hosts, options);
  return {
    kind: "docker",
    open: (spec, { signal } = {}) => sandbox.open(spec, signal),
    list: () => sandbox.list(),
    remove: (id) => sandbox.remove(checkSessionId(id)),
    thinWalls: () => sandbox.thinWalls(),
    identity: (image) => sandbox.identity(image),
    answers: () => sandbox.answers(),
    endedByMemory: (instance) => sandbox.endedByMemory(instance),
    close: () => sandbox.close(),
    describe: () => sandbox.describe(),
    warm: () => sandbox.pool?.ready ?? 0,
  };
}

class EngineSandbox {
  readonly #hosts: readonly EngineHost[];
  readonly #options: DockerSandboxOptions;
  readonly pool: WarmPool | undefined;
  /** By container name: the sessions of this process and its warm containers. */
  readonly #leases = new LeaseKeeper((name) => this.#renew(name));

  constructor(hosts: readonly EngineHost[], options: DockerSandboxOptions) {
    this.#hosts = hosts;
    this.#options = options;
    if (options.pool !== undefined && options.pool.size > 0) {
      const wish = options.pool;
      checkLimits(wish.limits);
      this.pool = new WarmPool({
        size: wish.size,
        maxAgeMs: POOL_MAX_AGE_MS,
        make: () => this.#makeWarm(wish),
        discard: (warm) => this.#discard(warm),
      });
    }
  }

  async open(spec: SessionSpec, signal: AbortSignal | undefined): Promise<Session> {
    checkSessionSpec(spec);
    const image = this.#allowedImage(spec.image);
    const files = await packFiles(spec.files, spec.limits.diskBytes);
    const trees = await packTrees(spec.readOnly ?? [], spec.limits.diskBytes);
    for (;;) {
      signal?.throwIfAborted();
      const found = await findSession(this.#hosts, spec.id);
      if (found !== undefined) await this.#leases.once(SESSION_PREFIX + spec.id);
      const session =
        found === undefined ? await this.#make(spec, image, files, trees) : this.#session(found, spec, true);
      if (session === undefined) continue;
      this.#leases.keep(SESSION_PREFIX + spec.id);
      return session;
    }
  }

  async list(): Promise<ListedSession[]> {
    const answers = await Promise.allSettled((await answering(this.#hosts)).map((host) => listHost(host)));
    const answered = answers.filter((answer) => answer.status === "fulfilled");
    const failed = answers.find((answer) => answer.status === "rejected");
    if (answered.length === 0) throw failed?.reason;
    const sessions = answered.flatMap(({ value }) => value);
    // The process that lists sessions also renews their leases: the cleanup removes unwanted sessions, and the others must stay alive.
    await Promise.all(
      sessions.filter(({ status }) => status === "live").map(({ id }) => this.#leases.once(SESSION_PREFIX + id)),
    );
    return sessions;
  }

  async remove(id: string): Promise<void> {
    this.#leases.forget(SESSION_PREFIX + id);
    const asked = await answering(this.#hosts);
    const answers = await Promise.allSettled(asked.map((host) => removeFromHost(host, id)));
    const failed = answers.find((answer) => answer.status === "rejected");
    // An engine that does not answer matters only if no answering engine had the session.
    if (answers.some((answer) => answer.status === "fulfilled" && answer.value)) return;
    if (failed !== undefined) throw failed.reason;
    const silent = this.#hosts.find((host) => !asked.includes(host));
    if (silent !== undefined) throw silent.pulse.unreachable();
  }

  async close(): Promise<void> {
    this.#leases.close();
    // If an engine hangs, its pool containers end when their lease expires.
    await Promise.race([this.pool?.close(), pause(CLOSE_MS, undefined, { ref: false })]);
    for (const host of this.#hosts) host.pulse.close();
  }

  /** If an engine does not answer now, the renewal is tried again. If it no longer has the container, the renewal stops. */
  async #renew(name: string): Promise<void> {
    const asked = await answering(this.#hosts).catch(() => undefined);
    if (asked === undefined) return;
    const answers = await Promise.allSettled(
      asked.map(({ docker }) => docker.getContainer(name).kill({ signal: LEASE_SIGNAL })),
    );
    if (
      asked.length === this.#hosts.length &&
      answers.every(
        (answer) => answer.status === "rejected" && (isNotFound(answer.reason) || isConflict(answer.reason)),
      )
    )
      throw answers[0]?.status === "rejected" ? answers[0].reason : new Error("no engine");
  }

  async thinWalls(): Promise<readonly ThinWall[]> {
    const warnings = (await this.describe()).flatMap(({ facts }) => facts?.warnings ?? []);
    return warnings.length === 0 ? [] : [oldEngine(warnings)];
  }

  async identity(image: string | undefined): Promise<string> {
    const name = this.#allowedImage(image);
    const hosts = await Promise.all(
      this.#hosts.map(async (host) => {
        const facts = await host.facts().catch(() => undefined);
        const digest = await host.imageId(name).catch(() => "");
        return [host.address, facts?.engineVersion, facts?.runcVersion, facts?.cgroupVersion, digest];
      }),
    );
    return JSON.stringify([hosts, this.#options.runtime ?? "", this.#options.apparmorProfile ?? ""]);
  }

  async answers(): Promise<void> {
    const image = this.#allowedImage(undefined);
    const asked = this.#hosts.map((host) =>
      host.docker
        .getImage(image)
        .inspect()
        .catch((error: unknown) => {
          throw translateEngineError(error, { host: host.address, act: "show its image", image });
        }),
    );
    await Promise.any(asked).catch((error: AggregateError) => {
      throw error.errors[0];
    });
  }

  async endedByMemory(instance: string): Promise<boolean> {
    const asked = await answering(this.#hosts);
    const answers = await Promise.all(asked.map(({ docker }) => endedByMemory(docker, instance)));
    return answers.includes(true);
  }

  async describe(): Promise<DockerDescription[]> {
    return await Promise.all(
      this.#hosts.map((host) =>
        host.facts().then(
          (facts) => ({ host: host.address, facts }),
          (error: unknown) => ({ host: host.address, facts: undefined, problem: String(error) }),
        ),
      ),
    );
  }

  #allowedImage(wanted: string | undefined): string {
    const [fallback = ""] = this.#options.images;
    const image = wanted ?? fallback;
    if (!this.#options.images.includes(image)) throw imageRefused(image, this.#options.images);
    return image;
  }

  #session(made: MadeContainer, spec: SessionSpec, attached: boolean, standby?: Launcher): Session {
    return new DockerSession(
      { id: spec.id, host: made.host, container: made.container, uid: made.uid, limits: spec.limits },
      {
        attached,
        first: initialState(spec.environment),
        state: spec.state ?? initialState(spec.environment),
        remove: () => this.remove(spec.id),
        ...(standby === undefined ? {} : { standby }),
      },
    );
  }

  /** Returns undefined if another worker created the session first. */
  async #make(spec: SessionSpec, image: string, files: Uint8Array, trees: Uint8Array): Promise<Session | undefined> {
    const warm = this.#fitsPool(spec, image) ? this.pool?.take() : undefined;
    if (warm !== undefined) this.#leases.forget(warm.container.id);
    const made = warm ?? (await this.#makeCold(spec, image));
    const { host, container } = made;
    try {
      const treesIn = feedTrees(made, trees, spec.id);
      treesIn.catch(() => {});
      const launcher = warm?.launcher ?? (await Launcher.start(await Launcher.create(container, made.uid, true)));
      await Promise.all([
        treesIn,
        feedFiles(host, launcher, files, spec.id),
        warm === undefined ? undefined : recordLabels(host, spec),
      ]);
      const won = await container.rename({ name: SESSION_PREFIX + spec.id }).then(
        () => true,
        (error: unknown) => {
          if (isConflict(error)) return false;
          throw error;
        },
      );
      if (won) return this.#session(made, spec, false, launcher);
      launcher.close();
      await this.#discard(made);
      return undefined;
    } catch (error) {
      await this.#discard(made).catch(() => {});
      throw translateEngineError(error, {
        host: host.address,
        act: "put files into a session",
        image,
        session: spec.id,
      });
    }
  }

  #engineOptions() {
    const { runtime, apparmorProfile } = this.#options;
    return { runtime, apparmorProfile };
  }

  #fitsPool(spec: SessionSpec, image: string): boolean {
    const wish = this.#options.pool;
    if (spec.scratch !== undefined) return false;
    return wish !== undefined && this.#allowedImage(wish.image) === image && sameContainer(wish.limits, spec.limits);
  }

  async #makeCold(spec: SessionSpec, image: string): Promise<MadeContainer> {
    const seconds = Math.ceil((Date.parse(spec.labels.deadline) - Date.now()) / 1000);
    return await createContainer(await leastLoaded(this.#hosts), {
      ...this.#engineOptions(),
      name: NEW_PREFIX + randomBytes(8).toString("hex"),
      image,
      limits: spec.limits,
      labels: { [labelNames.session]: spec.id, ...labelsOf(spec.labels) },
      lifetimeSeconds: Math.max(1, seconds),
      readOnly: (spec.readOnly ?? []).map(({ at }) => at),
      scratch: spec.scratch,
    });
  }

  async #makeWarm(wish: WarmPoolWish): Promise<WarmContainer> {
    const name = POOL_PREFIX + randomBytes(8).toString("hex");
    const now = Date.now();
    const labels: SessionLabels = {
      ...wish.labels,
      run: "",
      created: new Date(now).toISOString(),
      deadline: new Date(now + 2 * POOL_MAX_AGE_MS).toISOString(),
    };
    const made = await createContainer(await leastLoaded(this.#hosts), {
      ...this.#engineOptions(),
      name,
      image: this.#allowedImage(wish.image),
      limits: wish.limits,
      labels: labelsOf(labels),
      lifetimeSeconds: POOL_LIFETIME_SECONDS,
      // These folders stay empty unless a judge session uses them.
      readOnly: readOnlyPlaces,
    });
    try {
      const launcher = await Launcher.start(await Launcher.create(made.container, made.uid, true));
      this.#leases.keep(made.container.id);
      return { ...made, launcher, madeAt: now };
    } catch (error) {
      await this.#discard(made);
      throw error;
    }
  }

  async #discard({ host, container }: MadeContainer): Promise<void> {
    this.#leases.forget(container.id);
    await removeContainer(host, container);
  }
}

/** Compares only the limits of the container. The clocks belong to the worker. */
function sameContainer(a: Limits, b: Limits): boolean {
  return (["memoryBytes", "cpus", "pids", "diskBytes"] as const).every((name) => a[name] === b[name]);
}

/**
 * A pool container's labels are older than its session and cannot change. So an empty volume of the same name carries the session's labels.
 */
async function recordLabels(host: EngineHost, spec: SessionSpec): Promise<void> {
  await host.docker.createVolume({
    Name: SESSION_PREFIX + spec.id,
    Labels: { [labelNames.kind]: "1", ...labelsOf(spec.labels) },
  });
}
