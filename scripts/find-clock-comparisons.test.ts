import { expect, it } from "vitest";
import { findClockComparisons } from "./find-clock-comparisons.ts";

const found = (text: string) => findClockComparisons("a.test.ts", text).map(({ line }) => line);

it.each([
  "expect(performance.now() - began).toBeLessThan(100);",
  "const ms = Date.now() - began; expect(ms).toBeLessThan(100);",
  "let ms = 0; ms = Math.max(ms, performance.now() - began); expect(ms).not.toBeGreaterThan(100);",
  "const since = () => performance.now() - began; expect(since()).toBeLessThanOrEqual(100);",
  "expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(12);",
  "const { user } = process.cpuUsage(); const used = process.cpuUsage(); expect(used.user).toBeLessThan(12);",
  "expect(looks).toBeLessThanOrEqual((performance.now() - began) / 50 + 1);",
  "expect((await run()).durationMs).toBeLessThan(8_000);",
  "await expect.poll(() => process.uptime()).toBeGreaterThan(3);",
  "const [before, told] = [performance.now(), 1]; expect(before).toBeGreaterThan(3);",
  "const { durationMs } = await run(); expect(durationMs).toBeLessThan(8_000);",
  "const { elapsed: ms } = await run(); expect(ms).toBeLessThan(8_000);",
  "expect((await run()).elapsedMs / 1_000).toBeLessThan(8);",
  "function since() { const now = performance.now(); return now - began; } expect(since()).toBeLessThan(100);",
  "const place = { left: () => until - Date.now() }; expect(await place.left()).toBeGreaterThan(0);",
  "const place = { async left() { return until - Date.now(); } }; expect(await place.left()).toBeGreaterThan(0);",
  "const all = []; all.push(performance.now() - began); expect(Math.max(...all)).toBeLessThan(100);",
  "const all = [performance.now() - began]; expect(all.toSorted()[1]).toBeLessThan(100);",
  "const began = new Date(); expect(new Date().getTime() - began.getTime()).toBeLessThan(100);",
  "const ms = performance.now() - began; expect(ms < 100).toBe(true);",
  "expect([1].every(() => Date.now() - began < 100)).toBe(true);",
  "assert(Date.now() - began < 100);",
])("finds %s", (text) => {
  expect(found(`\n${text}`)).toEqual([2]);
});

it.each([
  "const expiresAt = new Date(Date.now() + 60_000).toISOString(); expect(expiresAt).toBe(1);",
  "const end = performance.now() + 1_000; while (performance.now() < end) await pause(20);",
  "const one = await make({ at: Date.now() }); expect(one.size).toBeLessThan(10);",
  "const began = performance.now(); expect(steps).toBeLessThan(began.length);",
  'const text = "performance.now()"; expect(text.length).toBeLessThan(100); // Date.now()',
  "expect(outcome).toMatchObject({ durationMs: 1 });",
  "const asked = { at: Date.now(), size: 3 }; expect(asked.size < 10).toBe(true);",
  "const asked = { at: Date.now() }; expect(lines.at(-1)).toBeLessThan(10);",
  "const at = new Date(row.at); expect(at.getTime()).toBeGreaterThan(other.getTime());",
])("leaves %s alone", (text) => {
  expect(found(text)).toEqual([]);
});
