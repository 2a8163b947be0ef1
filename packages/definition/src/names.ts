import { limitSettingNames, type ModelSettings, modelSettingNames } from "@markmill/engine";

export const modelSettings: Readonly<Record<string, keyof ModelSettings>> = modelSettingNames;

/** The variable with the input of a run, if its dialect has an input. */
export const inputName = "__input";

/** Names that have a value without being declared. */
export const builtInNames: ReadonlySet<string> = new Set([
  "RESULT",
  "CONTENT",
  "STATUS",
  "EXIT_CODE",
  "TEST_RESULTS",
  "OUTCOME",
  "POINTS",
  "ERROR",
  "LABEL",
  ...Object.keys(modelSettings),
  ...limitSettingNames,
]);
