import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { identifyProcess, isAlive, ownIdentity, parseStat, readIdentity, writeIdentity } from "./process-identity.ts";

describe("identity of a process", () => {
  it("this process has its own identity, and another process with the same pid has a different one", () => {
    expect(isAlive(ownIdentity())).toBe(true);
    expect(identifyProcess(process.pid)).toEqual(ownIdentity());
    expect(isAlive({ ...ownIdentity(), startTime: "1" })).toBe(process.platform !== "linux");
  });

  it("a process matches if the system reported no start time", () => {
    expect(isAlive({ pid: process.pid, startTime: "" })).toBe(true);
  });

  it("a process that has ended has no identity, and neither has an invalid pid", async () => {
    const child = spawn("true");
    await once(child, "close");
    expect(identifyProcess(child.pid ?? 0)).toBeNull();
    for (const pid of [0, -1, 1.5, Number.NaN]) expect(identifyProcess(pid)).toBeNull();
  });

  it("a zombie does not count as running", async () => {
    if (process.platform !== "linux") return;
    // The shell becomes a sleep that never waits for its child.
    const parent = spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep 5"], { stdio: ["ignore", "pipe", "ignore"] });
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line).trim());
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(identifyProcess(pid)).toBeNull();
    parent.kill("SIGKILL");
  });

  it("a stat line is parsed even if its command name contains spaces and parentheses", () => {
    const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
    const line = `42 (a) b (c) S ${fields.slice(1).join(" ")}`;
    expect(parseStat(42, line)).toEqual({
      pid: 42,
      parent: 4,
      state: "S",
      startTime: "22",
      exiting: false,
      cpuTicks: 14 + 15 + 16 + 17,
    });
  });

  it("an identity reads back as written, and an unfinished file has none", () => {
    expect(readIdentity(writeIdentity(ownIdentity()))).toEqual(ownIdentity());
    expect(readIdentity('{"pid":12,"startedAt":null}')).toEqual({ pid: 12, startTime: "" });
    for (const text of ["", "{", "null", '"7"', '{"pid":"7"}']) expect(readIdentity(text)).toBeNull();
  });
});
