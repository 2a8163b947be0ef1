/**
 * Determines the model and the model settings of an agent. Later entries win: the caller's settings, the program's own, AI_* variables, the
 * model that a person gave with the run (--model), the agent's, the node's own.
 *
 * S1  AI_* variables count in the root run, and in a called workflow that declares or SETs them. Other AI_* variables are the caller's
 *     parameters.
 * S2  A called workflow's own settings win over its caller's settings, parameters and agents. Where it has none, the caller's count.
 * S3  The model of --model wins over settings and parameters of every workflow in the tree, until one SETs AI_MODEL_NAME.
 */

import type { Inherited } from "./event.ts";
import { own } from "./own-value.ts";
import type { ModelSettings } from "./program.ts";
import type { RunState } from "./state.ts";
import { type Turn, warn } from "./turn.ts";

const decimal = /^[ \t]*-?[0-9]+(\.[0-9]+)?[ \t]*$/;

/** Variables that set a model setting, with the name of that setting. */
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
  const { program, state } = turn;
  const { inherited } = state;
  const general = {
    ...program.settings,
    ...ownVariables(turn, (message) => warn(turn, "SETTING_INVALID", message, null)),
  };
  const agents = Object.entries(own(inherited.agents, agent) ?? {}).filter(([name]) => !Object.hasOwn(general, name));
  return {
    ...inherited.settings,
    ...general,
    ...chosen(state),
    ...Object.fromEntries(agents),
    ...own(program.agents, agent),
    ...node,
  };
}

/** The settings that a called workflow inherits where it has none of its own (S2). */
export function inheritedBy(turn: Turn): Inherited {
  const { program, state } = turn;
  const { settings, agents } = state.inherited;
  const names = [...new Set([...Object.keys(agents), ...Object.keys(program.agents)])];
  const byPerson = chosen(state);
  return {
    settings: { ...settings, ...program.settings, ...ownVariables(turn) },
    agents: Object.fromEntries(names.map((name) => [name, { ...own(agents, name), ...own(program.agents, name) }])),
    ...(byPerson === undefined ? {} : { chosen: byPerson }),
  };
}

/** Applies S3: the model that a person gave with the root run, unless a SET has named another one since. */
function chosen({ inherited, assigned }: RunState): ModelSettings | undefined {
  return assigned.includes("AI_MODEL_NAME") ? undefined : inherited.chosen;
}

/** The model that a person gives with a root run. */
export function chosenWith(variables: Readonly<Record<string, string>>): Pick<Inherited, "chosen"> {
  const model = own(variables, "AI_MODEL_NAME")?.trim() ?? "";
  return model === "" ? {} : { chosen: { model } };
}

/** Settings from the AI_* variables of this run (S1). */
function ownVariables({ program, state }: Turn, refuse: (message: string) => void = () => undefined): ModelSettings {
  const { variables, environment, depth, assigned } = state;
  const isOwn = (name: string) =>
    depth === 0 || assigned.includes(name) || program.params.some((param) => param.name === name);
  const settings: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(modelSettingNames)) {
    const variable = own(variables, name);
    const value = variable === undefined ? own(environment, name) : isOwn(name) ? variable : undefined;
    if (value === undefined || value.trim() === "") continue;
    if (setting === "model") settings[setting] = value.trim();
    else if (setting === "stop") settings[setting] = value.split("|");
    else if (decimal.test(value)) settings[setting] = Number(value);
    else refuse(`${name} is not a number and is ignored: '${value.slice(0, 40)}'.`);
  }
  return settings;
}
