import { createNoneSandbox } from "@markmill/sandbox";
import { describe } from "vitest";
import { sessionToolCases } from "../support/session-tool-cases.ts";

describe("tools in a session without a sandbox", () =>
  sessionToolCases((root) => createNoneSandbox({ root, warn: () => undefined }), "all"));
