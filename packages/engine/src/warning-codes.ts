/** The codes of warnings. A warning appears in a run's record and does not change the run. */
import type { CodeEntry } from "./failure.ts";

export const warningCodes = {
  VARIABLE_UNSET: {
    means: "A check reads a variable that has no value; it counts as empty.",
    fix: "Set it before, or correct its name.",
  },
  PARAMETER_UNSET: {
    means: "A parameter was not given and has no default; it counts as empty.",
    fix: "Give it, or write a default.",
  },
  PLACEHOLDER_UNKNOWN: {
    means: "A place {{NAME}} has no value and stays as written.",
    fix: "Set the variable before, correct its name, or name an environment variable in WORKFLOW_ENV.",
  },
  PATTERN_INVALID: {
    means: "A pattern of MATCHES that came from a variable or a file is no regular expression; it matches nothing.",
    fix: "Correct the text it came from.",
  },
  NUMBER_EXTRACTED: {
    means: "A check compared the number that it found in the first line, because the text is no number alone.",
    fix: "Let the text be a number alone, if another number was meant.",
  },
  FILE_MISSING: {
    means: "A file that a check reads was not found; it counts as empty.",
    fix: "Check the path, and what came with the submission.",
  },
  NO_COMMANDS: {
    means: "RESULT held no code block with commands; nothing was run.",
    fix: "Tell the model in its prompt to write the commands into a code block.",
  },
  SETTING_INVALID: {
    means: "A setting is no number and is ignored.",
    fix: "Give the parameter that the message names a number.",
  },
  ASK_DEFAULTED: {
    means: "Nobody answered in time; the default answer is used.",
    fix: "Nothing, or a longer timeout.",
  },
  HANDLER_FAILED: {
    means: "ON_SUCCESS or ON_FAILED did not come to its end; the run's own end stands.",
    fix: "Correct the handler; the message has its failure.",
  },
  REPLY_NOTE: {
    means: "Something about a model's reply that a person should know, such as a reply that was cut.",
    fix: "Read the message.",
  },
  EXECUTE_NOTE: {
    means: "Something about an EXECUTE that a person should know, such as output that was cut.",
    fix: "Read the message.",
  },
  GRADE_NOTE: {
    means: "Something about a grade that a person should know, such as a file that was too long to be shown whole.",
    fix: "Read the message.",
  },
  FILE_NOTE: {
    means: "Something about a file that was read or written as a value, such as bytes that are no UTF-8.",
    fix: "Read the message.",
  },
  NOTE: { means: "Something about an activity that a person should know.", fix: "Read the message." },
  WARNINGS_LEFT_OUT: {
    means: "One step had more warnings than are kept.",
    fix: "Mend those that are kept; they are mostly of one kind.",
  },
} as const satisfies Record<string, CodeEntry>;

export type WarningCode = keyof typeof warningCodes;
