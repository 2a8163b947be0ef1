import { describe } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringCommands } from "./kill-commands.ts";

const refused = await jailRefusal();
if (refused !== null) await reportSkip({ what: "kill -9 during commands in the jail", reason: refused });

describe.skipIf(refused !== null)("kill -9 during commands in the jail", () => killDuringCommands("jail", ["middle"]));
