import { describe } from "vitest";
import { killWorkers } from "./kill-worker.ts";

// The Redis file uses the shipped times. This one uses shorter ones, to save time.
describe("kill -9 on the postgres backend", () =>
  killWorkers("postgres", {
    everyPoint: true,
    environment: { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500" },
  }));
