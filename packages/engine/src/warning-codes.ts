/** The codes of warnings. A warning appears in a run's record and does not change the run. */
import type { CodeEntry } from "./failure.ts";

export const warningCodes = {
  VARIABLE_UNSET: {
    means: "A check reads a variable without a value. The variable counts as empty.",
    fix: "Set the variable before the check, or correct its name.",
  },
  PARAMETER_UNSET: {
    means: "A parameter has no value and no default. It counts as empty.",
    fix: "Pass the parameter, or write a default.",
  },
  PLACEHOLDER_UNKNOWN: {
    means: "A placeholder {{NAME}} has no value and stays in the text.",
    fix: "Set the variable before, correct its name, or name an environment variable in WORKFLOW_ENV.",
  },
  PATTERN_INVALID: {
    means: "A pattern of MATCHES from a variable or a file is not a regular expression. It matches nothing.",
    fix: "Correct the text of the variable or file.",
  },
  NUMBER_EXTRACTED: {
    means: "A check compared the number in the first line, because the text contains more than a number.",
    fix: "If this is the wrong number, let the text be only a number.",
  },
  FILE_MISSING: {
    means: "A check reads a file that was not found. The file counts as empty.",
    fix: "Check the path and the files of the submission.",
  },
  NO_COMMANDS: {
    means: "RESULT contained no code block with commands, so no command was run.",
    fix: "Tell the model in its prompt to write the commands into a code block.",
  },
  SETTING_INVALID: {
    means: "A setting is not a number and is ignored.",
    fix: "Set the parameter in the message to a number.",
  },
  ASK_DEFAULTED: {
    means: "The question expired without an answer, so the default answer is used.",
    fix: "Do nothing, or set a longer timeout.",
  },
  HANDLER_FAILED: {
    means: "ON_SUCCESS or ON_FAILED failed. The status of the run does not change.",
    fix: "Correct the handler. The message contains its failure.",
  },
  REPLY_NOTE: {
    means: "A note about a model's reply, for example that the reply was cut.",
    fix: "Read the message.",
  },
  EXECUTE_NOTE: {
    means: "A note about an EXECUTE, for example that its output was cut.",
    fix: "Read the message.",
  },
  GRADE_NOTE: {
    means: "A note about a grade, for example that a file was too long for the model.",
    fix: "Read the message.",
  },
  FILE_NOTE: {
    means: "A note about a file that was read or written as a value, for example that it is not UTF-8.",
    fix: "Read the message.",
  },
  NOTE: { means: "A note about an activity.", fix: "Read the message." },
  WARNINGS_LEFT_OUT: {
    means: "One step had too many warnings. Some were dropped.",
    fix: "Correct the stored warnings. In most cases, all have the same cause.",
  },
} as const satisfies Record<string, CodeEntry>;

export type WarningCode = keyof typeof warningCodes;
