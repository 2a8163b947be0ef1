import { describe, expect, it } from "vitest";
import { Demultiplexer } from "./demultiplex.ts";

const frame = (stream: 1 | 2, text: string) => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
};

describe("the demultiplexer of an engine's stream", () => {
  it("separates stdout and stderr wherever the bytes are cut", () => {
    const bytes = Buffer.concat([frame(1, "out one"), frame(2, "err"), frame(1, ""), frame(1, " two\n")]);
    for (let size = 1; size <= bytes.length; size += 1) {
      const seen = { stdout: "", stderr: "" };
      const demultiplexer = new Demultiplexer((name, chunk) => {
        seen[name] += chunk.toString();
      });
      for (let at = 0; at < bytes.length; at += size) demultiplexer.push(bytes.subarray(at, at + size));
      expect(seen).toEqual({ stdout: "out one two\n", stderr: "err" });
    }
  });
});
