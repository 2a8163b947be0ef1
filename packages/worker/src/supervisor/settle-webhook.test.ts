import { describe, expect, it } from "vitest";
import { type Attempt, settleWebhook } from "./settle-webhook.ts";

describe("settleWebhook", () => {
  it("counts every 2xx status as a delivery", () => {
    for (const status of [200, 201, 202, 204, 299]) {
      expect(settleWebhook({ is: "answered", status }, 0)).toEqual({ is: "delivered" });
    }
  });

  it("gives up at once if a retry cannot help", () => {
    expect(settleWebhook({ is: "answered", status: 410 }, 0)).toEqual({ is: "failed" });
    expect(settleWebhook({ is: "refused" }, 0)).toEqual({ is: "failed" });
  });

  it("makes ten attempts for all other answers, with growing waits, over about two days", () => {
    const troubles: Attempt[] = [
      ...[301, 302, 400, 401, 404, 429, 500, 503].map((status) => ({ is: "answered", status }) as const),
      { is: "unanswered" },
    ];
    for (const trouble of troubles) {
      let [attempts, last, sum] = [0, 0, 0];
      for (;;) {
        const settled = settleWebhook(trouble, attempts);
        attempts += 1;
        if (settled.is !== "again") {
          expect(settled).toEqual({ is: "failed" });
          break;
        }
        expect(settled.afterMs).toBeGreaterThan(last);
        last = settled.afterMs;
        sum += last;
      }
      expect([attempts, Math.round(sum / 3_600_000)]).toEqual([10, 45]);
    }
  });
});
