import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { createThreadCalls, ThreadCallFailed } from "./thread-calls.ts";

const place = mkdtempSync(join(tmpdir(), "markmill-calls-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const file = pathToFileURL(join(place, "functions.mts"));
const answering = pathToFileURL(join(import.meta.dirname, "answer-thread-calls.ts"));
writeFileSync(
  file,
  `import { answerThreadCalls } from ${JSON.stringify(answering.href)};
answerThreadCalls({
  double: (text: string) => text + text,
  refuse: () => { throw new Error("no"); },
  stumble: () => null.length,
  hang: () => { for (;;); },
  die: () => process.exit(3),
});
`,
);

interface Known {
  readonly [name: string]: (...args: never[]) => unknown;
  readonly double: (text: string) => string;
  readonly refuse: () => string;
  readonly stumble: () => number;
  readonly hang: () => string;
  readonly die: () => string;
}

const calls = (mostMs: number) => createThreadCalls<Known>(file, { name: "a test", mostMs });

it("thread calls are answered in their order, and a failure is reported", async () => {
  const call = calls(60_000);
  const [one, two, three] = await Promise.allSettled([call("double", "a"), call("refuse"), call("double", "b")]);
  expect([one, three]).toEqual(["aa", "bb"].map((value) => ({ status: "fulfilled", value })));
  expect(two).toMatchObject({ status: "rejected", reason: { message: "no" } });
});

it("a failed thread call is a ThreadCallFailed and keeps the name of its error", async () => {
  const failure = await calls(60_000)("stumble").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ThreadCallFailed);
  expect(String(failure)).toMatch(/^TypeError: Cannot read prop/);
});

it("a thread that hangs or ends is given up, and the next call gets a new one", async () => {
  const call = calls(3_000);
  const hung = await call("hang").catch((error: unknown) => error);
  expect(hung).toBeInstanceOf(ThreadCallFailed);
  expect(String(hung)).toContain("takes longer than 3 s");
  await expect(call("die")).rejects.toThrow("ended");
  // This call, too, would be given up if its thread starts slowly.
  await expect.poll(() => call("double", "c").catch(() => null), { timeout: 60_000 }).toBe("cc");
});
