import { limitSettingNames, type ModelSettings, modelSettingNames } from "@markmill/engine";

export const modelSettings: Readonly<Record<string, keyof ModelSettings>> = modelSettingNames;

/** The variable that holds what a run is given as its input, where its dialect has such a thing. */
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
