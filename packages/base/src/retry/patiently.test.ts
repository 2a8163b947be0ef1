import { describe, expect, it } from "vitest";
import { doubling, mayPass, patiently } from "./patiently.ts";

const failing = (times: number) => {
  const seen = { tries: 0 };
  const act = async () => {
    seen.tries += 1;
    if (seen.tries <= times) throw new Error(`failure ${seen.tries}`);
    return "done";
  };
  return { act, seen };
};

describe("patiently", () => {
  it("retries a call until it succeeds", async () => {
    expect(await patiently(failing(3).act, () => 0)).toBe("done");
  });

  it("throws the last failure when patience is over", async () => {
    const { act, seen } = failing(9);
    await expect(patiently(act, (_, { tries }) => (tries < 3 ? 0 : null))).rejects.toThrow("failure 3");
    expect(seen.tries).toBe(3);
  });

  it("passes the failure, the number of attempts and the time since the first one to the patience function", async () => {
    const heard: string[] = [];
    await patiently(failing(2).act, (error, { tries, ms }) => {
      heard.push(`${(error as Error).message} ${tries} ${ms >= 0 && ms < 5_000}`);
      return 0;
    });
    expect(heard).toEqual(["failure 1 1 true", "failure 2 2 true"]);
  });

  it("ends the pause on an abort and makes one more attempt", async () => {
    const controller = new AbortController();
    const { act, seen } = failing(9);
    setTimeout(() => controller.abort(), 20);
    await expect(patiently(act, () => 60_000, controller.signal)).rejects.toThrow("failure 2");
    expect(seen.tries).toBe(2);
  });

  it("pauses twice as long each time, up to the longest pause", () => {
    const pause = doubling(100, 2_000);
    expect([1, 2, 3, 4, 5, 6, 40].map((tries) => pause({ tries, ms: 0 }))).toEqual([
      100, 200, 400, 800, 1_600, 2_000, 2_000,
    ]);
  });

  it("mayPass accepts only errors marked as transient", () => {
    expect(mayPass(Object.assign(new Error("away"), { transient: true }))).toBe(true);
    expect(mayPass(Object.assign(new Error("wrong"), { transient: false }))).toBe(false);
    expect([new Error("odd"), null, "text", { transient: true }].map(mayPass)).toEqual([false, false, false, false]);
  });
});
