import { describe } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { jailRefusal } from "../support/jail-refusal.ts";
import { killDuringSessionTools } from "./kill-session-tools.ts";

const refused = await jailRefusal();
if (refused !== null) await reportSkip({ what: "kill -9 during tools in a session in the jail", reason: refused });

describe.skipIf(refused !== null)("kill -9 during tools in a session in the jail", () =>
  killDuringSessionTools("jail", ["servers"]),
);
