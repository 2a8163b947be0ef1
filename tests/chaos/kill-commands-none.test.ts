import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringCommands } from "./kill-commands.ts";

// The jail tests kills in the middle of a command, if there is a jail.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("kill -9 during commands without a sandbox", () =>
  killDuringCommands("none", everything ? ["points", "middle"] : ["points"]));
