/**
 * A sandbox that is opened on first use. If it could not be opened, the next use tries again. Until it is open, calls fail with the reason.
 */
import type { ProvenSandbox } from "@markmill/sandbox";

export function lateSandbox(kind: ProvenSandbox["kind"], open: () => Promise<ProvenSandbox>): ProvenSandbox {
  let opening: Promise<ProvenSandbox> | null = null;
  const opened = (): Promise<ProvenSandbox> => {
    if (opening !== null) return opening;
    const asked = open();
    opening = asked;
    asked.catch(() => {
      if (opening === asked) opening = null;
    });
    return asked;
  };
  return {
    kind,
    proven: async () => (await opened()).proven(),
    open: async (spec, options) => (await opened()).open(spec, options),
    list: async () => (await opened()).list(),
    remove: async (id) => (await opened()).remove(id),
    answers: async () => (await opened()).answers?.(),
    endedByMemory: async (instance) => (await (await opened()).endedByMemory?.(instance)) ?? false,
    async close() {
      const there = await opening?.catch(() => null);
      await there?.close();
    },
  };
}
