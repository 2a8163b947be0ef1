import type { CodeEntry, FindingCode } from "../../finding-codes.ts";
import type { Report } from "../../report.ts";

/** Findings of tasks-JSON files, in addition to those that all dialects share. The meaning of a code never changes. */
export const taskCodes = {
  JSON_SYNTAX: { means: "The file is no JSON at the place named.", fix: "Correct it there; JSON has no comments." },
  JSON_TOO_DEEP: { means: "Values are nested more than 100 deep.", fix: "Write the inner value as text." },
  JSON_TOO_MANY: { means: "The file holds more than a million values.", fix: "Give long material to the run." },
  JSON_KEY_TWICE: { means: "An object has the same field twice.", fix: "Keep one of them." },
  TEXT_UNSTORABLE: {
    means: "A text holds a NUL character or half of a surrogate pair, which no database keeps.",
    fix: "Remove the escape, \\u0000 or one of \\ud800 to \\udfff.",
  },
  FIELD_MISSING: { means: "A field that is needed is not there.", fix: "Add it; docs/tasks-json.md lists all fields." },
  FIELD_UNKNOWN: {
    means: "A field is none of the dialect's, and would be lost. An error in strict mode.",
    fix: "Correct its name, or remove it.",
  },
  FIELD_TYPE: { means: "A field has a value of the wrong type.", fix: "Write the type that the message names." },
  FIELD_VALUE: { means: "A field's value is not one of those allowed.", fix: "Write one that the message names." },
  FIELD_TWICE: {
    means: "Two fields say the same, one of each revision of the dialect.",
    fix: "Keep one of them: prompt or messages, custom_tool or custom_tools.",
  },
  NAME_RESERVED: { means: "A name is empty, too long, or not to be used.", fix: "Choose another name." },
  TASK_TWICE: { means: "Two tasks have the same id.", fix: "Give one of them another id." },
  TASK_MISSING: {
    means: "A step names a task that does not exist. As a target, an error in strict mode; else the run ends there.",
    fix: "Correct the id, or add the task.",
  },
  TASK_WITHOUT_STEP: {
    means:
      "A task is a target, but no step has it as its source: the run ends there, before it. An error in strict mode.",
    fix: "Add a step with the task as its source.",
  },
  TASK_UNUSED: { means: "No step names a task: it never runs.", fix: "Add a step, or remove the task." },
  STEP_DEAD: {
    means: "A second step has the same source, or its source is the end: it is never looked at.",
    fix: "Remove it; two ways out of one task are a condition with target_if_not.",
  },
  INPUT_TWICE: { means: "Two inputs of a task have the same name.", fix: "Rename one of them." },
  INPUT_MISPLACED: {
    means: "An input is of a type that cannot be used where it stands.",
    fix: "Read it in a task, write it to the cache, and read it from there.",
  },
  CHECK_INPUTS: {
    means: "A check has no inputs named __output and __expected, which it compares.",
    fix: "Add both; they are compared without case, line breaks and space around.",
  },
  PLACEHOLDER_UNDECLARED: {
    means: "A prompt has a place for which the task declares no input; it is sent as it is written.",
    fix: "Add an input of that name, or correct the place.",
  },
  CONDITION_NEVER_DECIDED: {
    means: "A condition compares numbers, and its expected value is none: it always fails.",
    fix: 'Write a number in quotes, such as "19".',
  },
  SCHEMA_INVALID: {
    means:
      "The schema of a task is neither a JSON Schema, its text, nor base64 of a pattern; or it refers only to itself.",
    fix: "Write a JSON Schema with type and properties.",
  },
  TOOL_NAME_UNKNOWN: {
    means: "config.tools names a tool that does not exist.",
    fix: "Choose one that the message names.",
  },
  TOOL_DEFINED_TWICE: { means: "Two tools would have the same name for the model.", fix: "Rename one of them." },
  TOOLS_MISSING: {
    means: "A task calls functions, and the file names no tool that could be called.",
    fix: "Name tools in config.tools or config.custom_tools.",
  },
  POST_PROCESS_INCOMPLETE: {
    means: "A rule of post_process lacks its operand; it is skipped.",
    fix: "Give replace both lhs and rhs, append rhs, prepend lhs.",
  },
} as const satisfies Record<string, CodeEntry>;

export type TaskCode = keyof typeof taskCodes;
export type TaskReport = Report<TaskCode | FindingCode>;
