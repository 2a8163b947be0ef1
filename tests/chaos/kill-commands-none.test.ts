import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringCommands } from "./kill-commands.ts";

// What is in the middle of a command is tried in the jail, where there is one.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("kill -9 during commands without a sandbox", () =>
  killDuringCommands("none", everything ? ["points", "middle"] : ["points"]));
