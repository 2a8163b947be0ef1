import type { CodeEntry, FindingCode } from "../../finding-codes.ts";
import type { Report } from "../../report.ts";

/** Findings of tasks-JSON files, in addition to those that all dialects share. The meaning of a code never changes. */
export const taskCodes = {
  JSON_SYNTAX: {
    means: "The file is not valid JSON at this position.",
    fix: "Correct the JSON at this position. JSON has no comments.",
  },
  JSON_TOO_DEEP: { means: "Values are nested more than 100 deep.", fix: "Write the inner value as text." },
  JSON_TOO_MANY: { means: "The file contains more than a million values.", fix: "Pass long texts to the run." },
  JSON_KEY_TWICE: { means: "An object has the same field twice.", fix: "Remove one of them." },
  TEXT_UNSTORABLE: {
    means: "A text contains a NUL character or half of a surrogate pair, which a database cannot store.",
    fix: "Remove the escape, \\u0000 or one of \\ud800 to \\udfff.",
  },
  FIELD_MISSING: { means: "A required field is missing.", fix: "Add the field. docs/tasks-json.md lists all fields." },
  FIELD_UNKNOWN: {
    means: "A field is unknown and would be lost. This is an error in strict mode.",
    fix: "Correct the name of the field, or remove it.",
  },
  FIELD_TYPE: { means: "A field has a value of the wrong type.", fix: "Use the type in the message." },
  FIELD_VALUE: { means: "A field's value is not one of those allowed.", fix: "Use a value in the message." },
  FIELD_TWICE: {
    means: "Two fields have the same meaning, one from each revision of the dialect.",
    fix: "Remove one of them: prompt or messages, custom_tool or custom_tools.",
  },
  NAME_RESERVED: { means: "A name is empty, too long or reserved.", fix: "Choose another name." },
  TASK_TWICE: { means: "Two tasks have the same id.", fix: "Give one of them another id." },
  TASK_MISSING: {
    means:
      "A step names a task that does not exist. As a target, this is an error in strict mode; otherwise the run ends there.",
    fix: "Correct the id, or add the task.",
  },
  TASK_WITHOUT_STEP: {
    means:
      "A task is a target, but no step has it as its source: the run ends there, before it. An error in strict mode.",
    fix: "Add a step with the task as its source.",
  },
  TASK_UNUSED: { means: "No step names a task, so the task never runs.", fix: "Add a step, or remove the task." },
  STEP_DEAD: {
    means: "A second step has the same source, or the source of a step is the end. The step is never used.",
    fix: "Remove the step. For two exits of one task, use a condition with target_if_not.",
  },
  INPUT_TWICE: { means: "Two inputs of a task have the same name.", fix: "Rename one of them." },
  INPUT_MISPLACED: {
    means: "An input has a type that is not allowed in this place.",
    fix: "Read the input in a task, write it to the cache, and read it from the cache.",
  },
  CHECK_INPUTS: {
    means: "A check has no inputs named __output and __expected, which it compares.",
    fix: "Add both; they are compared without case, line breaks and space around.",
  },
  PLACEHOLDER_UNDECLARED: {
    means: "A prompt has a placeholder without an input of the task. It is sent unchanged.",
    fix: "Add an input with this name, or correct the placeholder.",
  },
  CONDITION_NEVER_DECIDED: {
    means: "A condition compares numbers, but its expected value is not a number, so it always fails.",
    fix: 'Write a number in quotes, such as "19".',
  },
  SCHEMA_INVALID: {
    means:
      "The schema of a task is neither a JSON Schema, its text, nor base64 of a pattern; or it refers only to itself.",
    fix: "Write a JSON Schema with type and properties.",
  },
  TOOL_NAME_UNKNOWN: {
    means: "config.tools names a tool that does not exist.",
    fix: "Choose a tool in the message.",
  },
  TOOL_DEFINED_TWICE: { means: "Two tools would have the same name for the model.", fix: "Rename one of them." },
  TOOLS_MISSING: {
    means: "A task calls functions, but the file names no callable tool.",
    fix: "Name tools in config.tools or config.custom_tools.",
  },
  POST_PROCESS_INCOMPLETE: {
    means: "A rule of post_process has no operand and is skipped.",
    fix: "Give replace both lhs and rhs, append rhs, prepend lhs.",
  },
} as const satisfies Record<string, CodeEntry>;

export type TaskCode = keyof typeof taskCodes;
export type TaskReport = Report<TaskCode | FindingCode>;
