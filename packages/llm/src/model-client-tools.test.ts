import { afterEach, describe, expect, it } from "vitest";
import type { ModelRequest } from "./model-request.ts";
import { ask, client, closeServers, failureOf, serve, serveBody, ways } from "./testing-model-client.ts";

afterEach(closeServers);

describe("tools of a model request", () => {
  const tools = [
    {
      name: "look_up",
      description: "Looks a word up.",
      schema: { type: "object", properties: { word: { type: "string" } } },
    },
  ];

  it("are offered, and the model's tool calls are read, whole and streamed, together with its text", async () => {
    const { url, requests } = await serve(`
rules:
  - when: { role: user, pattern: 'mean (\\w+)' }
    reply: I look.
    calls:
      - { name: look_up, arguments: { word: "{{1}} and a text that is longer than one piece" } }
      - { name: look_up, arguments: "not json", id: mine }
`);
    for (const [, how] of ways) {
      const reply = await client(url).complete(ask("What does mean tide?", { tools }), how);
      expect(reply).toMatchObject({ text: "I look.", finishReason: "tools" });
      expect(reply.toolCalls).toEqual([
        {
          id: expect.stringMatching(/^call_\d+_1$/),
          name: "look_up",
          arguments: '{"word":"tide and a text that is longer than one piece"}',
        },
        { id: "mine", name: "look_up", arguments: "not json" },
      ]);
    }
    expect(requests()[0]?.body).toMatchObject({
      tools: [{ type: "function", function: { name: "look_up", parameters: tools[0]?.schema } }],
    });
  });

  it("get their results sent back under the id of their call; with tool choice none the model must answer", async () => {
    const { url, requests } = await serve("rules: [{ when: { role: tool, text: moon }, reply: The moon. }]");
    const toolCalls = [{ id: "c1", name: "look_up", arguments: "{}" }];
    const request: ModelRequest = {
      model: "scripted",
      settings: {},
      tools,
      toolChoice: "none",
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", content: "", toolCalls },
        { role: "tool", content: "moon", callId: "c1" },
      ],
    };
    expect(await client(url).complete(request)).toMatchObject({ text: "The moon.", finishReason: "stop" });
    expect(requests()[0]?.body).toMatchObject({
      tool_choice: "none",
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", function: { name: "look_up", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "moon" },
      ],
    });
  });

  it("are called in any form that endpoints send: no ids, the same id twice, objects, the protocol's first form", async () => {
    const answers: [object, object[]][] = [
      [
        { tool_calls: [{ function: { name: "a", arguments: { x: 1 } } }, { id: "", function: { name: "b" } }] },
        [
          { id: "call_1", name: "a", arguments: '{"x":1}' },
          { id: "call_2", name: "b", arguments: "" },
        ],
      ],
      [
        {
          tool_calls: [
            { id: "s", function: { name: "a", arguments: "{}" } },
            { id: "s", function: { name: "b" } },
            null,
            7,
          ],
        },
        [
          { id: "s", name: "a", arguments: "{}" },
          { id: "call_2", name: "b", arguments: "" },
        ],
      ],
      [{ function_call: { name: "a", arguments: "{}" } }, [{ id: "call_1", name: "a", arguments: "{}" }]],
    ];
    for (const [message, calls] of answers) {
      const url = await serveBody(JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }] }));
      expect((await client(url).complete(ask("x", { tools }))).toolCalls).toEqual(calls);
    }
  });

  it("may not stream arguments beyond the size limit of a reply", async () => {
    const { url } = await serve(`default: { calls: [{ name: a, arguments: "${"x".repeat(5_000)}" }] }`);
    const failure = await failureOf(
      client(url, { maxReplyBytes: 2_000 }).complete(ask("x", { tools }), { onDelta: () => undefined }),
    );
    expect(failure.code).toBe("MODEL_REPLY_TOO_LARGE");
  });
});
