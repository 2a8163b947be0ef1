/**
 * Combines several sandboxes in one worker: every run uses the kind that it was started with, not the kind of its worker. Kinds other than
 * the worker's own are opened when a run first needs them.
 */
import type { ProvenSandbox, Sandbox, SandboxChoice } from "@markmill/sandbox";

export interface SandboxRoutes {
  /** The worker's own sandbox. */
  readonly own: { readonly choice: SandboxChoice; readonly sandbox: Sandbox | ProvenSandbox };
  /** The kind that a root run was started with. null: the run does not state one. */
  readonly choiceOf: (rootId: string) => Promise<SandboxChoice | null>;
  readonly open: (choice: SandboxChoice) => Promise<Sandbox>;
  /** true for a long-running worker: its own sandbox is tested at the start and watched. Otherwise it is tested when a command needs it. */
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
    /** It is unknown which kind of sandbox had this instance, so all are asked. A kind that cannot answer is ignored. */
    async endedByMemory(instance) {
      const answers = await Promise.allSettled((await all()).map((sandbox) => sandbox.endedByMemory?.(instance)));
      return answers.some((answer) => answer.status === "fulfilled" && answer.value === true);
    },
    async close() {
      for (const sandbox of await all()) await sandbox.close();
    },
  };
}
