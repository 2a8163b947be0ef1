/** The error codes for a model catalogue or a script of replies. */
const any = {
  YAML: { means: "The file is not valid YAML, or uses too many aliases.", fix: "Correct the YAML at this position." },
  KEY_UNKNOWN: { means: "The file contains an unknown key.", fix: "Remove the key, or correct its spelling." },
  KEY_MISSING: { means: "A key is missing.", fix: "Add the key." },
  VALUE: { means: "A value has the wrong type.", fix: "Correct the value." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

const models = {
  OUTPUT_OVER_CONTEXT: {
    means: "The output limit of a model is larger than its context.",
    fix: "Lower maxOutputTokens, or correct contextTokens.",
  },
  DEFAULT_OVER_LIMIT: {
    means: "The default of output tokens is above the output limit of the model.",
    fix: "Lower the default.",
  },
  ALIAS_HIDES_MODEL: { means: "An alias is also the name of a model.", fix: "Rename the alias." },
  ALIAS_CHAIN: { means: "An alias names another alias.", fix: "Name the model itself." },
  ALIAS_UNKNOWN_MODEL: {
    means: "An alias names a model that is not in the file.",
    fix: "Add the model under models, or set allowUnpriced: true.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

const script = {
  EMPTY: { means: "The script has no rule and no default, so it cannot answer.", fix: "Add rules or a default." },
  NO_REPLY: { means: "A rule has no reply and no fault.", fix: "Add a reply." },
  PLACEHOLDER_UNKNOWN: {
    means: "A reply contains a placeholder that its rule cannot fill.",
    fix: "Use a placeholder from the finding.",
  },
  NAME_TWICE: { means: "Two rules have the same name.", fix: "Rename one of them. The log identifies rules by name." },
  TIMES_AND_NTH: { means: "A rule contains both times and nth.", fix: "Remove one of them." },
  PATTERN: { means: "A regular expression is not valid.", fix: "Correct the regular expression." },
  FLAGS: { means: "A rule contains flags without pattern.", fix: "Add a pattern, or remove flags." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** The part of a code after MODELS_ or SCRIPT_. */
export type FileCode = keyof typeof any | keyof typeof models | keyof typeof script;

export const modelFileCodes = { ...prefixed("MODELS", any), ...prefixed("MODELS", models) };
export const scriptFileCodes = { ...prefixed("SCRIPT", any), ...prefixed("SCRIPT", script) };

export const scriptedServerCodes = {
  SCRIPTED_PORT_IN_USE: {
    means: "The port of the scripted model is in use.",
    fix: "Choose another port. 0 chooses a free port.",
  },
  SCRIPTED_PORT_REFUSED: {
    means: "The system refuses the port of the scripted model.",
    fix: "Choose a port above 1023.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

function prefixed<T extends Record<string, { readonly means: string; readonly fix: string }>>(
  prefix: string,
  codes: T,
): Record<string, { readonly means: string; readonly fix: string }> {
  return Object.fromEntries(Object.entries(codes).map(([code, entry]) => [`${prefix}_${code}`, entry]));
}
