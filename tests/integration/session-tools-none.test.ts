import { createNoneSandbox } from "@markmill/sandbox";
import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { sessionToolCases } from "../support/session-tool-cases.ts";

// What depends on the sandbox is tried in the jail, where there is one.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("tools in a session without a sandbox", () =>
  sessionToolCases(
    (root) => createNoneSandbox({ root, warn: () => undefined }),
    everything ? ["sandbox", "worker"] : ["worker"],
  ));
