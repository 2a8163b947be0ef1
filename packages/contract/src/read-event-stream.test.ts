import { describe, expect, it } from "vitest";
import { readEventStream, type StreamedEvent } from "./read-event-stream.ts";

async function readCut(text: string, size: number): Promise<StreamedEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.subarray(i, i + size));
      controller.close();
    },
  });
  const read: StreamedEvent[] = [];
  for await (const event of readEventStream(body)) read.push(event);
  return read;
}

describe("an event stream", () => {
  it("is read the same, however it is split into pieces", async () => {
    const text =
      ': hello\nretry: soon\nunknown: x\nid: 1\ndata: {"a":\ndata: "é"}\n\nevent: more\ndata\n\n' +
      "id: 2\r\nevent: end\r\ndata:x\r\n\r\ndata: never finished\n";
    for (let size = 1; size <= text.length; size += 1) {
      expect(await readCut(text, size)).toEqual([
        { event: "message", data: '{"a":\n"é"}', id: "1" },
        { event: "more", data: "", id: "1" },
        { event: "end", data: "x", id: "2" },
      ]);
    }
  });
});
