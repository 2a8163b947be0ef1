/**
 * Checks the values in commands before a run. It reports raw placeholders that a model or a student can fill, and placeholders that the
 * shell or another interpreter reads as code. The engine's fill-command.ts decides at run time.
 */
import { commandPlaces, type Operand, type Program } from "@markmill/engine";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";
import { placesIn } from "./template-places.ts";

/** Variables that a model, a student or a person writes during the run. */
const foreign = ["RESULT", "CONTENT", "ERROR", "REPORT"];

export function checkCommands(parsed: ReadonlyMap<string, LoadedFile>, report: FindingReport): void {
  const programs = Array.from(parsed.values()).flatMap(({ program }) => (program === null ? [] : [program]));
  const filled = foreignNames(programs, parsed);
  for (const { program, sources } of parsed.values()) {
    for (const [id, node] of Object.entries(program?.nodes ?? {})) {
      const at = sources.nodes[id];
      if (node.kind !== "execute" || node.command === null || at === undefined) continue;
      for (const { name, raw, stands, first } of commandPlaces(node.command)) {
        if (raw && filled.has(name)) {
          report.warn(
            "COMMAND_RAW",
            at,
            `{{{${name}}}} in ${id} puts text from a model or a student into the command as shell code.`,
            `Write {{${name}}}: the value is then quoted, one word or part of a quoted text.`,
          );
        } else if (!raw && (stands === "plain" || stands === "number" || stands === "code")) {
          report.warn(
            "COMMAND_PLACE",
            at,
            `{{${name}}} in ${id} is in a place where its value would be ${stands === "number" ? "calculated with" : "evaluated once more"}. Unsafe values fail the step.`,
            `Give it to a variable first, Y={{${name}}}, and use "$Y"; hand it to a program as an argument of its own.`,
          );
        } else if (!raw && first && stands === "bare") {
          report.warn(
            "COMMAND_WORD",
            at,
            `{{${name}}} in ${id} is at the start of a command. Its value is used as one word.`,
            `Write {{{${name}}}} if the value is a whole command of your own.`,
          );
        }
      }
    }
  }
}

/** Names whose value can come from outside, in any of the workflows, because the workflows share their variables. */
function foreignNames(programs: readonly Program[], parsed: ReadonlyMap<string, LoadedFile>): Set<string> {
  const names = new Set(foreign);
  // A model writes the parameters of a workflow that is called as a tool.
  for (const { tools = {} } of programs)
    for (const tool of Object.values(tools))
      if (tool.kind === "workflow")
        for (const { name } of parsed.get(tool.program)?.program?.params ?? []) names.add(name);
  for (let before = -1; before !== names.size; ) {
    before = names.size;
    for (const { nodes, files } of programs) {
      for (const node of Object.values(nodes)) {
        if (node.kind !== "set" || node.target.to !== "variable") continue;
        if (isForeign(node.value, names, files)) names.add(node.target.name);
      }
    }
  }
  return names;
}

function isForeign(value: Operand, names: ReadonlySet<string>, files: Program["files"]): boolean {
  switch (value.from) {
    case "name":
      return names.has(value.name) || placesIn(value.name).some(({ name }) => names.has(name));
    case "template":
      return placesIn(value.text).some(({ name }) => names.has(name));
    case "file":
      return !Object.hasOwn(files, value.path);
    default:
      return false;
  }
}
