/** The error codes for a model catalogue or a script of replies. */
const any = {
  YAML: { means: "The file is not valid YAML, or uses too many aliases.", fix: "Correct the YAML at this place." },
  KEY_UNKNOWN: { means: "A key does not exist there.", fix: "Remove it, or correct its spelling." },
  KEY_MISSING: { means: "A key is missing.", fix: "Add the key." },
  VALUE: { means: "A value is of the wrong kind.", fix: "Correct the value." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

const models = {
  OUTPUT_OVER_CONTEXT: {
    means: "A model may put out more tokens than its context holds.",
    fix: "Lower maxOutputTokens, or correct contextTokens.",
  },
  DEFAULT_OVER_LIMIT: {
    means: "The default of output tokens is above what a model can put out.",
    fix: "Lower the default.",
  },
  ALIAS_HIDES_MODEL: { means: "An alias is also the name of a model.", fix: "Rename the alias." },
  ALIAS_CHAIN: { means: "An alias names another alias.", fix: "Name the model itself." },
  ALIAS_UNKNOWN_MODEL: {
    means: "An alias names a model that is not described.",
    fix: "Describe it under models, or set allowUnpriced: true.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

const script = {
  EMPTY: { means: "The script has no rule and no default, so it answers nothing.", fix: "Add rules or a default." },
  NO_REPLY: { means: "There is neither a reply nor a fault that stands alone.", fix: "Add a reply." },
  PLACEHOLDER_UNKNOWN: {
    means: "A reply holds a place that its rule cannot fill.",
    fix: "Use one that the finding lists.",
  },
  NAME_TWICE: { means: "Two rules have the same name.", fix: "Rename one; the log tells rules by name." },
  TIMES_AND_NTH: { means: "times and nth both choose occasions.", fix: "Keep one of them." },
  PATTERN: { means: "A regular expression is not valid.", fix: "Correct it." },
  FLAGS: { means: "flags does nothing without pattern.", fix: "Add a pattern, or remove it." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** The part of a code after MODELS_ or SCRIPT_. */
export type FileCode = keyof typeof any | keyof typeof models | keyof typeof script;

export const modelFileCodes = { ...prefixed("MODELS", any), ...prefixed("MODELS", models) };
export const scriptFileCodes = { ...prefixed("SCRIPT", any), ...prefixed("SCRIPT", script) };

export const scriptedServerCodes = {
  SCRIPTED_PORT_IN_USE: {
    means: "The port of the scripted model is in use.",
    fix: "Choose another one; 0 takes any free port.",
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
