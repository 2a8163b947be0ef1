import { describe, expect, it } from "vitest";
import { type EngineBounds, engineBounds } from "./engine-bounds.ts";
import { EnginePulse } from "./engine-pulse.ts";

const bounds = { ...engineBounds, pingMs: 20, answerMs: 50, silentMs: 100 };

/** An engine whose pings take the time that `tookMs` says, on a clock of its own. Resolves after so many pings. */
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

/** An engine that answers pings, or does not. */
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
  it("is not felt while nothing is awaited", async () => {
    const one = engine();
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    pulse.watch(() => undefined)();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(one.pings).toBe(0);
    expect(pulse.stalledMs()).toBe(0);
    pulse.close();
  });

  it("gives up what waits for a silent engine, refuses more, and serves again when it answers", async () => {
    const one = engine();
    one.answers = false;
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    const error = await new Promise<Error>((resolve) => pulse.watch(resolve));
    expect(error).toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
    expect(pulse.away).toBe(true);
    await expect(pulse.confirm()).rejects.toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
    const asked = one.pings;
    expect(await pulse.answers()).toBe(false);
    // It was known to be away: nobody waited for a ping.
    expect(one.pings).toBe(asked);
    one.answers = true;
    await expect.poll(() => pulse.away).toBe(false);
    expect(await pulse.answers()).toBe(true);
    pulse.close();
  });

  it("counts the time in which a watched engine did not answer, and keeps what waits through a short stall", async () => {
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
    // Whoever closes it gives up what still waits.
    expect(errors).toHaveLength(1);
  });

  it.each([
    [
      "late",
      (signal: AbortSignal) => new Promise<void>((_, no) => signal.addEventListener("abort", () => no(signal.reason))),
    ],
    ["failed", () => Promise.reject(new Error("read ECONNRESET"))],
  ])("leaves an engine out after one %s ping, and gives up nothing that is under way there", async (_, trouble) => {
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
    // It was known not to answer: nobody waited for a ping.
    expect(pings).toBe(asked);
    good = true;
    await expect.poll(() => pulse.answers()).toBe(true);
    expect(errors).toEqual([]);
    pulse.close();
  });

  it.each([
    // The first stall may have begun just after the answer before it, so its pause counts. After it only the pings count.
    ["is slow", 10, () => 600, 16_000, 1_600 + 9 * 600],
    ["stalls once", 3, (ping: number) => (ping === 1 ? 20_000 : 0), 23_000, 21_000],
    ["answers at once", 3, () => 0, 3_000, 0],
    ["answers in time", 3, () => 400, 4_200, 0],
  ])("gives back less than the time that passes where an engine %s", async (_, pings, took, passed, stalled) => {
    const slow = await pinged(pings, took);
    expect({ passed: slow.passed, stalled: slow.pulse.stalledMs() }).toEqual({ passed, stalled });
    slow.pulse.close();
  });

  it("gives back no more than the bound, or the time that the command may take if that is longer", async () => {
    const { pulse } = await pinged(10, () => 20_000, { stallsMs: 150_000 });
    expect(pulse.stalledSince(60_000, 0)).toBe(141_000);
    expect(pulse.stalledSince(0, 300_000)).toBe(201_000);
    expect(() => pulse.stalledSince(0, 60_000)).toThrow(/SANDBOX_ENGINE_UNREACHABLE: .*for 201 s in sum/);
    pulse.close();
  });

  it("says why it throws, whether no ping was sent, one took long, or one failed without a message", async () => {
    // As Node refuses a connection to a name with several addresses.
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

  it("pings an engine that is left out, and gives it up when it stays silent, while nothing else is awaited", async () => {
    const one = engine();
    one.answers = false;
    const pulse = new EnginePulse("unix:///e", one.ping, bounds);
    expect(await pulse.answers()).toBe(false);
    await expect.poll(() => pulse.away).toBe(true);
    pulse.close();
  });
});
