import { createNoneSandbox } from "@markmill/sandbox";
import { describe, inject } from "vitest";
import { jailRefusal } from "../support/jail-refusal.ts";
import { sessionToolCases } from "../support/session-tool-cases.ts";

// The jail tests the cases that depend on the sandbox, if there is a jail.
const everything = inject("thorough") || (await jailRefusal()) !== null;

describe("tools in a session without a sandbox", () =>
  sessionToolCases(
    (root) => createNoneSandbox({ root, warn: () => undefined }),
    everything ? ["sandbox", "worker"] : ["worker"],
  ));
