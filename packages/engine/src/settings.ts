/** Which model an agent speaks with, and how: AI_* variables under the program's settings, the agent's, the node's. */
import type { ModelSettings } from "./program.ts";
import type { Turn } from "./turn.ts";

const names = {
  AI_MODEL_NAME: "model",
  AI_TEMPERATURE: "temperature",
  AI_TOP_P: "topP",
  AI_FREQUENCY_PENALTY: "frequencyPenalty",
  AI_PRESENCE_PENALTY: "presencePenalty",
  AI_MAX_OUTPUT_TOKENS: "maxOutputTokens",
  AI_MAX_PROMPT_LENGTH: "maxPromptCharacters",
  AI_STOP_SEQUENCE: "stop",
} as const satisfies Record<string, keyof ModelSettings>;

export function settingsFor(turn: Turn, agent: string, own: ModelSettings): ModelSettings {
  return { ...turn.program.settings, ...fromVariables(turn), ...turn.program.agents[agent], ...own };
}

function fromVariables(turn: Turn): ModelSettings {
  const { variables, environment } = turn.state;
  const settings: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(names)) {
    const value = variables[name] ?? environment[name];
    if (value === undefined || value.trim() === "") continue;
    if (setting === "model") settings[setting] = value.trim();
    else if (setting === "stop") settings[setting] = value.split("|");
    else if (Number.isFinite(Number(value))) settings[setting] = Number(value);
  }
  return settings;
}
