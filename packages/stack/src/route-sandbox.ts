/**
 * One worker, several sandboxes: every run gets the kind it was started with, never that of whoever works for it. Kinds other than
 * the worker's own are opened when a run first needs them.
 */
import type { ProvenSandbox, Sandbox, SandboxChoice } from "@markmill/sandbox";

export interface SandboxRoutes {
  /** The worker's own. */
  readonly own: { readonly choice: SandboxChoice; readonly sandbox: Sandbox | ProvenSandbox };
  /** What a root run was started with; null: it does not say. */
  readonly choiceOf: (rootId: string) => Promise<SandboxChoice | null>;
  readonly open: (choice: SandboxChoice) => Promise<Sandbox>;
  /** Of a worker that stays: its own sandbox is tested at its start, and watched. Else it is tested when a command needs it. */
  readonly watched: boolean;
}

export function routeSandbox({ own, choiceOf, open, watched }: SandboxRoutes): Sandbox | ProvenSandbox {
  const opened = new Map<SandboxChoice, Promise<Sandbox>>([[own.choice, Promise.resolve(own.sandbox)]]);
  const sandboxOf = (choice: SandboxChoice): Promise<Sandbox> => {
    const known = opened.get(choice);
    if (known !== undefined) return known;
    const opening = open(choice);
    opened.set(choice, opening);
    opening.catch(() => opened.delete(choice));
    return opening;
  };
  const all = async () =>
    (await Promise.allSettled(opened.values())).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return {
    kind: own.sandbox.kind,
    async open(spec, options) {
      const choice = (await choiceOf(spec.labels.run)) ?? own.choice;
      return await (await sandboxOf(choice)).open(spec, options);
    },
    async list() {
      return (await Promise.all((await all()).map((sandbox) => sandbox.list()))).flat();
    },
    async remove(id) {
      for (const sandbox of await all()) await sandbox.remove(id);
    },
    ...(watched && "proven" in own.sandbox ? { proven: own.sandbox.proven } : {}),
    ...(own.sandbox.answers === undefined ? {} : { answers: own.sandbox.answers }),
    /** Nobody knows which kind had this instance. A kind that cannot answer knows nothing of it. */
    async endedByMemory(instance) {
      const answers = await Promise.allSettled((await all()).map((sandbox) => sandbox.endedByMemory?.(instance)));
      return answers.some((answer) => answer.status === "fulfilled" && answer.value === true);
    },
    async close() {
      for (const sandbox of await all()) await sandbox.close();
    },
  };
}
