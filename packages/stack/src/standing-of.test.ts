import type { Wait } from "@markmill/store";
import { expect, it } from "vitest";
import { standingOf } from "./standing-of.ts";

const wait: Wait = {
  rootId: "r",
  runId: "r",
  node: "PROMPT_A",
  parked: {
    since: 0,
    tries: 3,
    failure: { code: "MODEL_RATE_LIMITED", message: "Too many requests." },
    trouble: { model: "small", endpoint: "api.example.org", reason: "429 slow down" },
    held: false,
  },
  nextTry: new Date(12_000),
};
const held: Wait = { ...wait, parked: { ...wait.parked, held: true }, nextTry: null };

it("standingOf shows a run as queued, waiting or interrupted while it is, and an ended run as ended", () => {
  expect(standingOf({ status: "doing", queued: false }, [])).toBe("doing");
  expect(standingOf({ status: "doing", queued: false }, [wait])).toBe("waiting");
  expect(standingOf({ status: "doing", queued: false }, [wait, held])).toBe("interrupted");
  expect(standingOf({ status: "failed", queued: false }, [held])).toBe("failed");
  expect(standingOf({ status: "doing", queued: true }, [])).toBe("queued");
});
