import { array, assert, constantFrom, nat, oneof, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { redactorOf } from "./redact-key.ts";

const key = "sk-proj/Ab+cd_0123456789==xyz";

describe("redacting an API key", () => {
  it.each([
    ["whole", key],
    ["percent-encoded", encodeURIComponent(key)],
    ["percent-encoded in lower case", encodeURIComponent(key).toLowerCase().replaceAll("ab", "Ab")],
    ["in base64", Buffer.from(key).toString("base64")],
    ["its beginning", key.slice(0, 20)],
    ["its end", key.slice(-14)],
    ["a piece", key.slice(5, 19)],
  ])("removes it, %s", (_, spelling) => {
    for (const where of ["reply", "failure"] as const) {
      const clean = redactorOf(key, where)(`Wrong key: ${spelling}. Bye`);
      expect(clean).toMatch(/^Wrong key: \*\*\*=*\. Bye$/);
    }
  });

  it("leaves all other text unchanged", () => {
    const text = "sk-proj of a project, 0123456789";
    expect(redactorOf(key, "reply")(text)).toBe(text);
    expect(redactorOf(undefined, "reply")(text)).toBe(text);
  });

  it("removes a placeholder only from failures", () => {
    expect(redactorOf("test", "reply")("The test passed.")).toBe("The test passed.");
    expect(redactorOf("test", "failure")("key test refused")).toBe("key *** refused");
  });

  it("does not remove a short key inside other words", () => {
    const clean = redactorOf("none", "failure");
    expect(clean("nonexistent model none, 'none' and anyone; key=none")).toBe(
      "nonexistent model ***, '***' and anyone; key=***",
    );
    expect(redactorOf("password", "reply")("Passwords: passwords, password.")).toBe("Passwords: passwords, ***.");
    expect(clean(String.raw`{"error":"wrong key:\nnone"}`)).toBe(String.raw`{"error":"wrong key:\n***"}`);
  });

  it("finds the key at every position, like a slow search", () => {
    // No other encoding contains a piece of this key.
    const plain = "skprojAbcd0123456789xyzQ";
    const pieces = new Set(Array.from({ length: plain.length - 11 }, (_, at) => plain.slice(at, at + 12)));
    const slowly = (text: string) => {
      let out = "";
      for (let at = 0; at < text.length; ) {
        let end = at;
        while (pieces.has(text.slice(end, end + 12))) end += 1;
        out += end === at ? text[at] : "***";
        at = end === at ? at + 1 : end + 11;
      }
      return out;
    };
    const cut = tuple(nat(plain.length), nat(plain.length)).map(([from, length]) => plain.slice(from, from + length));
    const parts = array(oneof(cut, constantFrom(...plain, " ", "\u{1f600}", "\ud800")), { maxLength: 12 });
    assert(
      property(parts, (given) => {
        const text = given.join("");
        expect(redactorOf(plain, "reply")(text)).toBe(slowly(text));
      }),
      { numRuns: 5_000 },
    );
  });
});
