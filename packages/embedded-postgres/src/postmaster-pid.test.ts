import { describe, expect, it } from "vitest";
import { parsePostmasterPid } from "./postmaster-pid.ts";

const note = (socket: string, status: string) =>
  ["4711", "/proc/self/fd/3", "1794797678", "5432", socket, "", " 16039945         4", status, ""].join("\n");

describe("parsing postmaster.pid", () => {
  it("resolves the socket's directory against the data directory", () => {
    expect(parsePostmasterPid(note(".", "ready   "), "/p/data")).toEqual({
      pid: 4711,
      socketDirectory: "/p/data",
      status: "ready",
    });
    expect(parsePostmasterPid(note("/tmp/short", "stopping"), "/p/data")).toMatchObject({
      socketDirectory: "/tmp/short",
      status: "stopping",
    });
  });

  it("treats a file that is still being written as a starting server", () => {
    expect(parsePostmasterPid("4711\n/p/data\n", "/p/data")).toMatchObject({ pid: 4711, status: "starting" });
  });

  it("finds no process in a broken file", () => {
    expect(parsePostmasterPid("", "/p/data").pid).toBe(0);
  });
});
