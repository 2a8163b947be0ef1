import { limitSettingNames, type ModelSettings } from "@markmill/engine";

/** Variables that set how a model is asked, with the setting each stands for. */
export const modelSettings: Readonly<Record<string, keyof ModelSettings>> = {
  AI_MODEL_NAME: "model",
  AI_TEMPERATURE: "temperature",
  AI_TOP_P: "topP",
  AI_FREQUENCY_PENALTY: "frequencyPenalty",
  AI_PRESENCE_PENALTY: "presencePenalty",
  AI_MAX_OUTPUT_TOKENS: "maxOutputTokens",
  AI_MAX_PROMPT_LENGTH: "maxPromptCharacters",
  AI_STOP_SEQUENCE: "stop",
};

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

export const runStatuses: readonly string[] = ["CREATED", "DOING", "SUCCESS", "FAILED"];
