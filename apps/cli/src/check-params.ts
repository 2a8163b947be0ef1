import type { Config } from "@markmill/config";
import { closest } from "./closest.ts";
import type { FoundWorkflow } from "./find-workflow.ts";

/** Parameters that are missing, and values that nothing declares. */
export function checkParams(
  found: FoundWorkflow,
  variables: Readonly<Record<string, string>>,
  config: Config,
): string[] {
  const { definition } = found;
  if (definition === null) return [];
  const root = definition.programs[definition.root];
  const missing = (root?.params ?? []).filter(
    ({ name, default: otherwise }) =>
      otherwise === null && variables[name] === undefined && config.workflowEnvironment[name] === undefined,
  );
  const declared = Object.values(definition.programs).flatMap(({ params }) => params.map(({ name }) => name));
  const settings = /^(AI_|MAX_)|^(RESULT|STATUS|LABEL)$/;
  const unknown = Object.keys(variables).filter((name) => !declared.includes(name) && !settings.test(name));
  return [
    ...missing.map(
      ({ name }) =>
        `warning PARAM_MISSING: ${name} has no value, so it is empty.\n  fix: add ${name}=VALUE to the command.`,
    ),
    ...unknown.map((name) => {
      const near = closest(name, declared);
      const fix = near === null ? "Check the name; PARAMS declares what a workflow takes." : `Did you mean ${near}?`;
      return `warning PARAM_UNKNOWN: the workflow declares no parameter ${name}.\n  fix: ${fix}`;
    }),
  ];
}
