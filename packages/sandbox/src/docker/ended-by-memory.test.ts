import { describe, expect, it } from "vitest";
import { type EngineEvent, judgeEnd } from "./ended-by-memory.ts";

const at = (Action: string, seconds: number, signal?: string): EngineEvent => ({
  Action,
  timeNano: 1e18 + seconds * 1e9,
  Actor: { Attributes: signal === undefined ? {} : { signal } },
});

describe("the reason why a container ended", () => {
  it.each([
    ["an out-of-memory kill just before the end", [at("oom", 0), at("die", 0.1)], "memory"],
    ["an out-of-memory kill that is recorded after the end", [at("die", 0), at("oom", 0.1)], "memory"],
    ["a renewed lease between them", [at("oom", 0), at("kill", 0.1, "10"), at("die", 0.2)], "memory"],
    ["no out-of-memory kill", [at("die", 0)], "other"],
    ["an out-of-memory kill of an earlier command", [at("oom", 0), at("die", 60)], "other"],
    ["a removal by a worker", [at("oom", 0), at("kill", 1, "9"), at("die", 1.1)], "other"],
    ["a stop by an operator", [at("oom", 0), at("stop", 1), at("die", 1.1)], "other"],
    ["a container that runs", [at("oom", 0)], null],
    ["no record", [], null],
  ] as const)("is decided from the events: %s", (_, events, verdict) => {
    expect(judgeEnd(events)).toBe(verdict);
  });
});
