import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringSessionTools } from "./kill-session-tools.ts";

// What becomes of a server in the session is tried in the jail, where there is one.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("kill -9 during tools in a session without a sandbox", () =>
  killDuringSessionTools("none", everything ? ["points", "servers"] : ["points"]));
