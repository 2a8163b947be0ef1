/** The reasons why a tool gave no result. */
export const toolFailureCodes = {
  TOOL_UNKNOWN: {
    means: "A tool was asked for that the workflow does not offer.",
    fix: "Offer it under tools:, or tell the model in its prompt which tools there are.",
  },
  TOOL_ARGUMENTS: {
    means: "The arguments of a tool call do not fit the tool's schema.",
    fix: "Describe the arguments better in the tool's schema, or use another model.",
  },
  TOOL_FAILED: {
    means: "A tool answered with an error.",
    fix: "Read the message: it has what the other side said.",
  },
  TOOL_TIMEOUT: {
    means: "A tool did not answer in time.",
    fix: "Raise its timeout or TOOL_TIMEOUT_MS, or look why the other side is slow.",
  },
  TOOL_TOO_LARGE: {
    means: "What a tool gave is longer than a result may be.",
    fix: "Ask it for less, or let the operator raise TOOL_RESULT_KB.",
  },
  TOOL_ADDRESS_REFUSED: {
    means: "A tool would have reached an address that tools may not reach: a private, loopback or link-local one.",
    fix: "Name a public address, or let the operator allow this one by TOOL_ALLOW.",
  },
  TOOL_NOT_CONFIGURED: {
    means:
      "A tool needs something that is not there: an endpoint or a secret of the operator, a function, a tool of a server.",
    fix: "Configure or correct what the message names, or take the tool out of the workflow.",
  },
  TOOL_NOT_CALLED: {
    means: "The model was to ask for a tool and asked for none.",
    fix: "Say in the prompt what the tool is for, or use another model.",
  },
  TOOL_ROUNDS_EXHAUSTED: {
    means: "The model asks for tools again and again and does not come to an answer.",
    fix: "Raise rounds, or say in the prompt when to stop.",
  },
  TOOL_CALLS_TOO_MANY: {
    means: "One reply asks for more tools than may be called at a time.",
    fix: "Tell the model to ask for fewer at a time.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ToolFailureCode = keyof typeof toolFailureCodes;

/** The result of a tool call. `passing`: the same call may succeed later. */
export type ToolResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: ToolFailureCode; readonly message: string; readonly passing: boolean };

export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly code: ToolFailureCode;
  readonly passing: boolean;
  constructor(code: ToolFailureCode, message: string, passing = false) {
    super(message);
    this.code = code;
    this.passing = passing;
  }
}
