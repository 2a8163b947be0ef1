import { describe } from "vitest";
import { killDuringCommands } from "./kill-commands.ts";

describe("kill -9 during commands without a sandbox", () => killDuringCommands("none"));
