import type { ToolCallBegin, ToolCallEnd } from "@markmill/store/machine";
import { describe, expect, it } from "vitest";
import { performToolCalls, type ToolPorts } from "./perform-tools.ts";

const schema = { type: "object", properties: {}, additionalProperties: false };
const asked = {
  callIndex: 0,
  requestHash: "h",
  offered: ["build"],
  again: false,
  calls: [{ name: "build", arguments: "{}" }],
};

/** A tool in the session. The checkpoint could not keep all of the session's files. */
function portsWhere(begun: ToolCallBegin) {
  const ended: ToolCallEnd[] = [];
  const ports = {
    box: {},
    servers: {},
    scrub: async (text: string) => text,
    returned: async () => null,
    tools: { build: { kind: "sandbox", description: "", schema, command: "make" } },
    session: { perform: async () => ({ result: "built", note: "too many files" }) },
    begin: async () => begun,
    end: async (_: unknown, end: ToolCallEnd) => void ended.push(end),
  } as unknown as ToolPorts;
  return { ports, ended };
}

describe("the note on a tool's result", () => {
  it("is stored with the result", async () => {
    const { ports, ended } = portsWhere({ is: "begun" });
    const outcomes = await performToolCalls(ports, asked, new AbortController().signal);
    expect(outcomes).toEqual([{ is: "done", text: "built", note: "too many files" }]);
    expect(ended).toMatchObject([{ result: "built", note: "too many files" }]);
  });

  it("is reported again when a repeated activity finds the ended call", async () => {
    const { ports, ended } = portsWhere({ is: "done", result: "built", note: "too many files" });
    const outcomes = await performToolCalls(ports, asked, new AbortController().signal);
    expect(outcomes).toEqual([{ is: "done", text: "built", note: "too many files" }]);
    expect(ended).toEqual([]);
  });
});
