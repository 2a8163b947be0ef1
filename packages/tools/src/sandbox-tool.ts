/**
 * Builds the command of a tool that runs in the sandbox session: the author's command with the model's arguments as data, or the model's
 * own command.
 */
import { commandPlaces, fillCommand, type SandboxTool } from "@markmill/engine";
import { type ArgumentValues, textOf } from "./fill-url.ts";
import { ToolFailure } from "./tool-codes.ts";

export interface ToolCommand {
  readonly text: string;
  readonly trust: "author" | "foreign";
}

export type ToolCommandRead =
  | { readonly ok: true; readonly command: ToolCommand }
  | { readonly ok: false; readonly failure: ToolFailure };

/** `values` match the tool's schema. An omitted argument is an empty text. */
export function readToolCommand({ command }: SandboxTool, values: ArgumentValues): ToolCommandRead {
  if (command === null) return { ok: true, command: { text: textOf(values, "command"), trust: "foreign" } };
  if (commandPlaces(command).some(({ raw }) => raw)) {
    const why = "The command of the tool would take an argument as shell.";
    return { ok: false, failure: new ToolFailure("TOOL_NOT_CONFIGURED", why) };
  }
  const filled = fillCommand(command, (name) => textOf(values, name));
  if (filled.ok) return { ok: true, command: { text: filled.text, trust: "author" } };
  return { ok: false, failure: new ToolFailure("TOOL_ARGUMENTS", `${filled.name}: ${filled.why}.`) };
}
