import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringSessionTools } from "./kill-session-tools.ts";

// The jail tests what happens to a server in the session, if there is a jail.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("kill -9 during tools in a session without a sandbox", () =>
  killDuringSessionTools("none", everything ? ["points", "servers"] : ["points"]));
