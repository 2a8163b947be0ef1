import type { ToolCallBegin, ToolCallEnd } from "@markmill/store/machine";
import { describe, expect, it } from "vitest";
import { performToolCalls, type ToolPorts } from "./perform-tools.ts";

const schema = { type: "object", properties: {}, additionalProperties: false };
const asked = {
  ...{ callIndex: 0, requestHash: "h", offered: ["build"], again: false },
  calls: [{ name: "build", arguments: "{}" }],
};

/** A tool in the session, of whose files a checkpoint could not keep all. */
function portsWhere(begun: ToolCallBegin) {
  const ended: ToolCallEnd[] = [];
  const ports = {
    ...{ box: {}, servers: {}, scrub: async (text: string) => text, returned: async () => null },
    tools: { build: { kind: "sandbox", description: "", schema, command: "make" } },
    session: { perform: async () => ({ result: "built", note: "too many files" }) },
    begin: async () => begun,
    end: async (_: unknown, end: ToolCallEnd) => void ended.push(end),
  } as unknown as ToolPorts;
  return { ports, ended };
}

describe("what people should know of a tool's result", () => {
  it("is stored with it", async () => {
    const { ports, ended } = portsWhere({ is: "begun" });
    const outcomes = await performToolCalls(ports, asked, new AbortController().signal);
    expect(outcomes).toEqual([{ is: "done", text: "built", note: "too many files" }]);
    expect(ended).toMatchObject([{ result: "built", note: "too many files" }]);
  });

  it("is told by whoever finds the result of a call that has ended", async () => {
    const { ports, ended } = portsWhere({ is: "done", result: "built", note: "too many files" });
    const outcomes = await performToolCalls(ports, asked, new AbortController().signal);
    expect(outcomes).toEqual([{ is: "done", text: "built", note: "too many files" }]);
    expect(ended).toEqual([]);
  });
});
