import { limitSettingNames, type ModelSettings, modelSettingNames } from "@markmill/engine";

export const modelSettings: Readonly<Record<string, keyof ModelSettings>> = modelSettingNames;

/** Names that have a value without being declared. */
export const builtInNames: ReadonlySet<string> = new Set([
  "RESULT",
  "CONTENT",
  "STATUS",
  "EXIT_CODE",
  "ERROR",
  "LABEL",
  ...Object.keys(modelSettings),
  ...limitSettingNames,
]);
