import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { JsonWeight } from "./json-weight.ts";
import { overStdio } from "./mcp-over-stdio.ts";

const weigh = (...pieces: readonly string[]) => {
  const weight = new JsonWeight();
  return pieces.map((piece) => weight.add(Buffer.from(piece))).find((why) => why !== null) ?? null;
};

it("ordinary messages of a server pass, with any content of their strings", () => {
  expect(weigh('{"a": [1, {"b": "[[[{{{"}]}\n', 'data: {"c": "\\"[[["}\n\n')).toBe(null);
  expect(weigh(`{"a": "${"[".repeat(10_000)}"}`, `${'{"a": 1}\n'.repeat(1_500)}`)).toBe(null);
  expect(weigh(`{"a": {"b": {"c": [${'{"d": 1, "e": 2},'.repeat(15_000)}1]}}}`)).toBe(null);
});

it("deep nesting in a server's message is refused, even in pieces and after unbalanced quotes or brackets in another line", () => {
  const told = expect.stringContaining("nested more than 500 deep");
  expect(weigh("[".repeat(501))).toEqual(told);
  expect(weigh(...Array.from({ length: 501 }, () => '{"a":'))).toEqual(told);
  expect(weigh(': "\ndata: ', "[".repeat(501))).toEqual(told);
  expect(weigh(": ]]]]\ndata: ", "[".repeat(501))).toEqual(told);
});

it("too many objects in a server's message are refused", () => {
  expect(weigh("[", "{},".repeat(20_001))).toEqual(expect.stringContaining("more than 20000 objects"));
});

it("names what has too many messages, or too many members where the library copies them", () => {
  expect(weigh('{"a": 1}\n'.repeat(2_001))).toEqual(expect.stringContaining("more than 2000 messages"));
  const members = '"a": 1,'.repeat(10_001);
  for (const [before, after] of [
    ["{", "}"],
    ['{"result": {', "}}"],
    ['{"result": {"_meta": {', "}}}"],
  ])
    expect(weigh(`${before}${members}"b": 1${after}`)).toEqual(expect.stringContaining("members in its upper levels"));
});

it("ends a session with a program that writes such a message, and hands nothing of it on", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const ending = new AbortController();
  const start = async () => ({ stdin, stdout, stderr, ended: new Promise<number>(() => undefined) });
  const transport = await overStdio(start, {} as never, { ending, mostBytes: 1_000_000 });
  const heard: unknown[] = [];
  transport.onmessage = (message) => heard.push(message);
  await transport.start();
  stdout.write('{"jsonrpc": "2.0", "method": "a"}\n');
  await expect.poll(() => heard).toHaveLength(1);
  stdout.write(`{"jsonrpc": "2.0", "method": "b", "params": {"a": ${"[".repeat(1_000)}${"]".repeat(1_000)}}}\n`);
  await expect.poll(() => ending.signal.reason).toMatchObject({ code: "TOOL_TOO_LARGE" });
  expect(heard).toHaveLength(1);
});
