import { describe, expect, it } from "vitest";
import { parseLauncherReport } from "./launcher-script.ts";

const nonce = "0123456789abcdef0123456789abcdef";

describe("parsing the launcher's report", () => {
  it("reads whole lines that start with its nonce", () => {
    const text = `${nonce} unpacked 0\n${nonce} cpu 1500\n${nonce} oom 2\nnoise\n${nonce} oom 3\n${nonce} exit 7\n`;
    expect(parseLauncherReport(nonce, text)).toEqual({
      unpacked: 0,
      cpuMsBefore: 1.5,
      exited: true,
      outOfMemory: true,
    });
  });

  it("ignores another nonce, half a line, and a line that only contains the nonce", () => {
    const other = nonce.replace("0", "f");
    const text = `${other} exit 0\n${nonce} exit\nsay ${nonce} exit 0\n${nonce} exit 0 or so\n`;
    expect(parseLauncherReport(nonce, text)).toEqual({
      unpacked: undefined,
      cpuMsBefore: 0,
      exited: false,
      outOfMemory: false,
    });
  });

  it("finds no memory kill when the count did not rise during the command", () => {
    expect(parseLauncherReport(nonce, `${nonce} oom 4\n${nonce} oom 4\n`).outOfMemory).toBe(false);
  });
});
