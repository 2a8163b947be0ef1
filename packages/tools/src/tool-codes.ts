/** The reasons why a tool gave no result. */
export const toolFailureCodes = {
  TOOL_UNKNOWN: {
    means: "The model requested a tool that the workflow does not offer.",
    fix: "Add the tool under tools:, or list the tools in the prompt.",
  },
  TOOL_ARGUMENTS: {
    means: "The arguments of a tool call do not match the tool's schema.",
    fix: "Describe the arguments better in the tool's schema, or use another model.",
  },
  TOOL_FAILED: {
    means: "A tool answered with an error.",
    fix: "Read the message. It contains the tool's answer.",
  },
  TOOL_TIMEOUT: {
    means: "A tool did not answer in time.",
    fix: "Raise its timeout or TOOL_TIMEOUT_MS, or find out why the tool is slow.",
  },
  TOOL_TOO_LARGE: {
    means: "The result of a tool is too long.",
    fix: "Request a shorter result, or let the operator raise TOOL_RESULT_KB.",
  },
  TOOL_ADDRESS_REFUSED: {
    means: "A tool used a private, loopback or link-local address, which tools may not reach.",
    fix: "Use a public address, or let the operator allow this address with TOOL_ALLOW.",
  },
  TOOL_NOT_CONFIGURED: {
    means: "A tool needs a missing part: an endpoint or a secret of the operator, a function, or a tool of a server.",
    fix: "Configure or correct the part in the message, or remove the tool from the workflow.",
  },
  TOOL_NOT_CALLED: {
    means: "The model had to request a tool, but requested none.",
    fix: "Explain the purpose of the tool in the prompt, or use another model.",
  },
  TOOL_ROUNDS_EXHAUSTED: {
    means: "The model requests tools again and again without an answer.",
    fix: "Raise rounds, or explain in the prompt when to stop.",
  },
  TOOL_CALLS_TOO_MANY: {
    means: "One reply requests too many tools.",
    fix: "Tell the model to request fewer tools in one reply.",
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
