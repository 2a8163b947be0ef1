import { describe, expect, it } from "vitest";
import { engineBounds } from "./engine-bounds.ts";
import { EnginePulse } from "./engine-pulse.ts";

const bounds = { ...engineBounds, pingMs: 20, answerMs: 50, silentMs: 100 };

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
});
