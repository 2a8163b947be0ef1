/**
 * Which model an agent speaks with, and how. The later wins: the program's settings, AI_* variables, the agent's, the node's own. Where a
 * called workflow says nothing of its own, its caller's settings and agents count.
 */

import type { Inherited } from "./event.ts";
import { own } from "./own-value.ts";
import type { ModelSettings } from "./program.ts";
import { type Turn, warn } from "./turn.ts";

const decimal = /^[ \t]*-?[0-9]+(\.[0-9]+)?[ \t]*$/;

/** Variables that set how a model is asked, with the setting each stands for. */
export const modelSettingNames = {
  AI_MODEL_NAME: "model",
  AI_TEMPERATURE: "temperature",
  AI_TOP_P: "topP",
  AI_FREQUENCY_PENALTY: "frequencyPenalty",
  AI_PRESENCE_PENALTY: "presencePenalty",
  AI_MAX_OUTPUT_TOKENS: "maxOutputTokens",
  AI_MAX_PROMPT_LENGTH: "maxPromptCharacters",
  AI_STOP_SEQUENCE: "stop",
} as const satisfies Record<string, keyof ModelSettings>;

export function settingsFor(turn: Turn, agent: string, node: ModelSettings): ModelSettings {
  const { settings, agents } = inheritedBy(turn);
  return { ...settings, ...fromVariables(turn), ...own(agents, agent), ...node };
}

/** What a workflow that this run calls finds where it has nothing of its own. */
export function inheritedBy({ program, state }: Turn): Inherited {
  const { settings, agents } = state.inherited;
  const names = [...new Set([...Object.keys(agents), ...Object.keys(program.agents)])];
  return {
    settings: { ...settings, ...program.settings },
    agents: Object.fromEntries(names.map((name) => [name, { ...own(agents, name), ...own(program.agents, name) }])),
  };
}

function fromVariables(turn: Turn): ModelSettings {
  const { variables, environment } = turn.state;
  const settings: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(modelSettingNames)) {
    const value = variables[name] ?? environment[name];
    if (value === undefined || value.trim() === "") continue;
    if (setting === "model") settings[setting] = value.trim();
    else if (setting === "stop") settings[setting] = value.split("|");
    else if (decimal.test(value)) settings[setting] = Number(value);
    else warn(turn, "SETTING_INVALID", `${name} is no number and is ignored: '${value.slice(0, 40)}'.`, null);
  }
  return settings;
}
