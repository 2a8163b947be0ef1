import { createJailSandbox } from "@markmill/sandbox";
import { describe } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { jailRefusal } from "../support/jail-refusal.ts";
import { sessionToolCases } from "../support/session-tool-cases.ts";

const refused = await jailRefusal();
if (refused !== null) await reportSkip({ what: "tools in a session in the jail", reason: refused });

describe.skipIf(refused !== null)("tools in a session in the jail", () =>
  sessionToolCases((root) => createJailSandbox({ root }), ["sandbox"]),
);
