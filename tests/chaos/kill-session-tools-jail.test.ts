import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { describe } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { killDuringSessionTools } from "./kill-session-tools.ts";

const refused = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (refused !== null)
  await reportSkip({ what: "kill -9 during tools in a session in the jail", reason: refused.message });

describe.skipIf(refused !== null)("kill -9 during tools in a session in the jail", () =>
  killDuringSessionTools("jail"),
);
