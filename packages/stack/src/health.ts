/**
 * What a process says of itself to those who start, stop and send work to it. The decisions, without I/O.
 *
 * H1  Live: the event loop turns, so the process can finish what it holds. Only a process that does not answer at all is to be killed. A worker
 *     that drains, or waits for its database with a paid reply in memory, is live.
 * H2  Ready: the process may be given new work. It is ready when every component that it needs is well. Components that it can do without are
 *     told and change nothing.
 * H3  Everybody may ask. An answer has names, codes and fixed sentences, but no message of a server, no address and no secret.
 */

/** What is wrong, in fixed words. */
export interface Trouble {
  readonly code: string;
  readonly means: string;
  readonly fix: string;
}

export interface HealthComponent {
  /** In the answer, such as `database`. One process has one component of a name. */
  readonly name: string;
  /** false: the process is ready without it. */
  readonly needed: boolean;
  /** null: it is well. A rejection is told by the code of its error. */
  look(): Promise<Trouble | null> | Trouble | null;
  /** What a look means that has no answer after `lookMs`. */
  readonly silence: Trouble;
}

/** What a look at a component came to; null: it is well. */
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

/** H2. */
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

/** H1. */
export const liveAnswer: HealthAnswer = { ok: true, components: { process: { ok: true, needed: true } } };
