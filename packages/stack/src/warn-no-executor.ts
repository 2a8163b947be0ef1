/** Builds the warning for a workflow with commands that is started while no living worker can execute them: it is accepted, and waits. */
import { runsCommands } from "@markmill/engine";
import type { CommandStanding, Definition } from "@markmill/store";
import { sandboxTrouble, tellSandboxTrouble } from "./sandbox-health.ts";

export interface ExecutorWarning {
  readonly code: string;
  readonly message: string;
}

/** null: the workflow runs no command, a worker can execute it, or it is unknown. */
export async function warnNoExecutor(
  definitions: readonly Pick<Definition, "programs">[],
  standings: () => Promise<readonly CommandStanding[]>,
): Promise<ExecutorWarning | null> {
  if (!definitions.some(hasCommands)) return null;
  const trouble = await standings().then(sandboxTrouble, () => null);
  if (trouble === null) return null;
  const { code, fix } = trouble;
  return {
    code,
    message: `The workflow runs commands, but ${tellSandboxTrouble(trouble)} Steps with commands wait. ${fix}`,
  };
}

export function hasCommands({ programs }: Pick<Definition, "programs">): boolean {
  return Object.values(programs).some((program) =>
    Object.values(program.nodes).some((node) => runsCommands(node, program)),
  );
}
