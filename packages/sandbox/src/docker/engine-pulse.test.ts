import { describe, expect, it } from "vitest";
import { type EngineBounds, engineBounds } from "./engine-bounds.ts";
import { EnginePulse } from "./engine-pulse.ts";

const bounds = { ...engineBounds, pingMs: 20, answerMs: 50, silentMs: 100 };

/** An engine with its own clock, whose pings take `tookMs`. Resolves after `times` pings. */
async function pinged(times: number, tookMs: (ping: number) => number, more: Partial<EngineBounds> = {}) {
  let now = 0;
  let pings = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const ping = async () => {
    now += tookMs(pings);
    pings += 1;
  };
  const clock = {
    now: () => now,
    pause: async (ms: number, signal: AbortSignal) => {
      if (pings === times) resolve();
      // The clock stands still from here on.
      if (pings === times) await new Promise<void>((go) => signal.addEventListener("abort", () => go()));
      now += ms;
    },
  };
  const pulse = new EnginePulse("unix:///e", ping, { ...engineBounds, ...more }, clock);
  pulse.watch(() => undefined);
  await done;
  return { pulse, passed: now };
}

/** An engine that answers pings only while `answers` is set. */
function engine() {
  const it = {
    answers: true,
    pings: 0,
    ping: (signal: AbortSignal): Promise<void> => {
      it.pings += 1;
      if (it.answers) return Promise.resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  return it;
}

describe("the pulse of an engine", () => {
  it("sends no ping while no call is open", async () => {
    const one = engine();
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    pulse.watch(() => undefined)();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(one.pings).toBe(0);
    expect(pulse.stalledMs()).toBe(0);
    pulse.close();
  });

  it("gives up the calls to a silent engine, refuses new calls, and allows them again when the engine answers", async () => {
    const one = engine();
    one.answers = false;
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    const error = await new Promise<Error>((resolve) => pulse.watch(resolve));
    expect(error).toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
    expect(pulse.away).toBe(true);
    await expect(pulse.confirm()).rejects.toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
    const asked = one.pings;
    expect(await pulse.answers()).toBe(false);
    // The engine was known to be unreachable, so no ping was sent.
    expect(one.pings).toBe(asked);
    one.answers = true;
    await expect.poll(() => pulse.away).toBe(false);
    expect(await pulse.answers()).toBe(true);
    pulse.close();
  });

  it("counts the time in which the engine did not answer, and keeps open calls through a short stall", async () => {
    const one = engine();
    one.answers = false;
    const pulse = new EnginePulse("unix:///e", one.ping, { ...bounds, silentMs: 60_000 });
    const errors: Error[] = [];
    pulse.watch((error) => errors.push(error));
    await expect.poll(() => pulse.isSilent()).toBe(true);
    const during = pulse.stalledMs();
    expect(during).toBeGreaterThan(0);
    one.answers = true;
    await pulse.confirm();
    expect(pulse.isSilent()).toBe(false);
    expect(pulse.stalledMs()).toBeGreaterThanOrEqual(during);
    expect(errors).toEqual([]);
    pulse.close();
    // Closing the pulse gives up the calls that still wait.
    expect(errors).toHaveLength(1);
  });

  it.each([
    [
      "late",
      (signal: AbortSignal) => new Promise<void>((_, no) => signal.addEventListener("abort", () => no(signal.reason))),
    ],
    ["failed", () => Promise.reject(new Error("read ECONNRESET"))],
  ])("skips an engine after one %s ping, but keeps the open calls there", async (_, trouble) => {
    let good = false;
    let pings = 0;
    const ping = (signal: AbortSignal): Promise<void> => {
      pings += 1;
      return good ? Promise.resolve() : trouble(signal);
    };
    const pulse = new EnginePulse("unix:///e", ping, { ...bounds, silentMs: 60_000 });
    const errors: Error[] = [];
    pulse.watch((error) => errors.push(error));
    expect(await pulse.answers()).toBe(false);
    expect(pulse.away).toBe(false);
    const asked = pings;
    expect(await pulse.answers()).toBe(false);
    // The engine was known not to answer, so no ping was sent.
    expect(pings).toBe(asked);
    good = true;
    await expect.poll(() => pulse.answers()).toBe(true);
    expect(errors).toEqual([]);
    pulse.close();
  });

  it.each([
    // The first stall may have begun just after the previous answer, so its pause counts. After it only the pings count.
    ["is slow", 10, () => 600, 16_000, 1_600 + 9 * 600],
    ["stalls once", 3, (ping: number) => (ping === 1 ? 20_000 : 0), 23_000, 21_000],
    ["answers at once", 3, () => 0, 3_000, 0],
    ["answers in time", 3, () => 400, 4_200, 0],
  ])("credits less than the passed time for an engine that %s", async (_, pings, took, passed, stalled) => {
    const slow = await pinged(pings, took);
    expect({ passed: slow.passed, stalled: slow.pulse.stalledMs() }).toEqual({ passed, stalled });
    slow.pulse.close();
  });

  it("adds at most the maximum time, or the command's own time limit if that is longer", async () => {
    const { pulse } = await pinged(10, () => 20_000, { stallsMs: 150_000 });
    expect(pulse.stalledSince(60_000, 0)).toBe(141_000);
    expect(pulse.stalledSince(0, 300_000)).toBe(201_000);
    expect(() => pulse.stalledSince(0, 60_000)).toThrow(/SANDBOX_ENGINE_UNREACHABLE: .*for 201 s in sum/);
    pulse.close();
  });

  it("names the reason in its error: no ping was sent, a ping was slow, or a ping failed without a message", async () => {
    // Node refuses a connection to a name with several addresses like this.
    const refused = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
    const pulse = new EnginePulse("tcp://localhost:2375", () => Promise.reject(refused), bounds);
    expect(pulse.unreachable().message).toContain("(it has not answered a ping)");
    expect(await pulse.answers()).toBe(false);
    expect(pulse.unreachable().message).toContain("(ECONNREFUSED)");
    pulse.close();
    const slow = await pinged(1, () => 700);
    expect(slow.pulse.unreachable().message).toContain("(an answer to a ping took 700 ms)");
    slow.pulse.close();
  });

  it("pings a skipped engine, and gives it up when it stays silent, while no call is open", async () => {
    const one = engine();
    one.answers = false;
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    expect(await pulse.answers()).toBe(false);
    await expect.poll(() => pulse.away).toBe(true);
    pulse.close();
  });
});
