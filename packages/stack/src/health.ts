/**
 * Decides what a process reports about its health to load balancers and orchestrators. Without I/O.
 *
 * H1  Live: the event loop turns, so the process can finish its work. Only a process that does not answer at all should be killed. A worker
 *     that drains, or that waits for its database with a paid reply in memory, is live.
 * H2  Ready: the process may receive new work. It is ready when every component that it needs is healthy. Other components are reported and
 *     have no effect.
 * H3  Any client may send these requests. An answer contains names, codes and fixed sentences, but no message of a server, no address and
 *     no secret.
 */

/** A problem, described by a code and fixed sentences. */
export interface Trouble {
  readonly code: string;
  readonly means: string;
  readonly fix: string;
}

export interface HealthComponent {
  /** The name in the answer, such as `database`. It is unique in a process. */
  readonly name: string;
  /** false: the process is ready without it. */
  readonly needed: boolean;
  /** Checks the component. null: it is healthy. A rejection is reported by the code of its error. */
  look(): Promise<Trouble | null> | Trouble | null;
  /** The result of a check without an answer within `lookMs`. */
  readonly silence: Trouble;
}

/** The result of checking a component. null: it is healthy. */
export interface Looked {
  readonly name: string;
  readonly needed: boolean;
  readonly trouble: Trouble | null;
}

type ComponentHealth =
  | { readonly ok: true; readonly needed: boolean }
  | {
      readonly ok: false;
      readonly needed: boolean;
      readonly code: string;
      readonly means: string;
      readonly fix: string;
    };

export interface HealthAnswer {
  readonly ok: boolean;
  readonly components: Readonly<Record<string, ComponentHealth>>;
}

/** See H2 in the file header. */
export function tellHealth(looked: readonly Looked[]): HealthAnswer {
  return {
    ok: looked.every(({ needed, trouble }) => trouble === null || !needed),
    components: Object.fromEntries(
      looked.map(({ name, needed, trouble }) => [
        name,
        trouble === null
          ? ({ ok: true, needed } as const)
          : ({ ok: false, needed, code: trouble.code, means: trouble.means, fix: trouble.fix } as const),
      ]),
    ),
  };
}

/** See H1 in the file header. */
export const liveAnswer: HealthAnswer = { ok: true, components: { process: { ok: true, needed: true } } };
