import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { describe } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { sessionToolCases } from "../support/session-tool-cases.ts";

const refused = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (refused !== null) await reportSkip({ what: "tools in a session in the jail", reason: refused.message });

describe.skipIf(refused !== null)("tools in a session in the jail", () =>
  sessionToolCases((root) => createJailSandbox({ root }), "most"),
);
