import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputCollector } from "./collect-output.ts";

const marker = "0123456789abcdef0123456789abcdef";

function collect(chunks: readonly (string | Buffer)[], capBytes = 100) {
  const shown: string[] = [];
  const collector = new OutputCollector({ marker, capBytes, onText: (text) => shown.push(text) });
  for (const chunk of chunks) collector.push(Buffer.from(chunk));
  return { ended: collector.ended, shown: shown.join(""), ...collector.finish() };
}

describe("collected output", () => {
  it("ends at the marker, even if chunks split the marker", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 60 }), { maxLength: 6 }), (breaks) => {
        const all = `hello\n${marker}late`;
        const at = [0, ...breaks.map((n) => n % all.length).sort((a, b) => a - b), all.length];
        const chunks = at.slice(1).map((end, index) => all.slice(at[index], end));
        expect(collect(chunks)).toEqual({
          ended: true,
          shown: "hello\n",
          output: "hello\n",
          truncated: false,
          outputBytes: 6,
        });
      }),
    );
  });

  it("contains all bytes when no marker came", () => {
    expect(collect(["no marker", " here"])).toMatchObject({ ended: false, output: "no marker here", truncated: false });
  });

  it("keeps head and tail and states how many bytes are missing", () => {
    const { output, truncated, outputBytes } = collect([`${"a".repeat(500)}`, "b".repeat(500), marker]);
    expect(truncated).toBe(true);
    expect(outputBytes).toBe(1000);
    expect(output).toBe(`${"a".repeat(50)}\n[900 bytes not shown]\n${"b".repeat(50)}`);
  });

  it("never holds or shows more than the cap, for small and large chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 400 }), { maxLength: 40 }), (sizes) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const { output, outputBytes, truncated } = collect([...sizes.map((size) => "x".repeat(size)), marker]);
        expect(outputBytes).toBe(total);
        expect(truncated).toBe(total > 100);
        expect(output.replace(/\n\[\d+ bytes not shown\]\n/, "")).toBe("x".repeat(Math.min(100, total)));
      }),
    );
  });

  it("does not cut a character in two", () => {
    const { output } = collect(["€".repeat(400), marker]);
    expect(output).not.toContain("\ufffd");
  });
});
