import { describe, expect, it } from "vitest";
import { buildSeccompFilter, type SeccompArchitecture } from "./seccomp-filter.ts";

const arch = { x64: 0xc000003e, arm64: 0xc00000b7, x86: 0x40000003 } as const;
const open = { refuseHiddenMemory: false, refuseAffinity: false };
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (code: number) => 0x00050000 + code;

/** The kernel's classic BPF machine, limited to the instructions that the filter uses. */
function evaluate(program: Buffer, call: { arch: number; nr: number; args?: readonly number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.nr >>> 0, 0);
  data.writeUInt32LE(call.arch, 4);
  (call.args ?? []).forEach((value, index) => {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  });
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const [onTrue, onFalse] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)];
    const value = program.readUInt32LE(at * 8 + 4);
    const branch = (condition: boolean) => {
      at += condition ? onTrue : onFalse;
    };
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x06) return value;
    else if (code === 0x15) branch(accumulator === value);
    else if (code === 0x35) branch(accumulator >= value);
    else if (code === 0x45) branch((accumulator & value) !== 0);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the program ran off its end");
}

const numbers = {
  x64: {
    read: 0,
    execve: 59,
    clone: 56,
    socket: 41,
    ioctl: 16,
    ptrace: 101,
    mount: 165,
    keyctl: 250,
    memfd: 319,
    shmget: 29,
    affinity: 203,
  },
  arm64: {
    read: 63,
    execve: 221,
    clone: 220,
    socket: 198,
    ioctl: 29,
    ptrace: 117,
    mount: 40,
    keyctl: 219,
    memfd: 279,
    shmget: 194,
    affinity: 122,
  },
} as const;

describe.each<SeccompArchitecture>(["x64", "arm64"])("the system call filter of a jail for %s", (name) => {
  const nr = numbers[name];
  const judge = (number: number, args: readonly number[] = [], options = open) =>
    evaluate(buildSeccompFilter(name, options), { arch: arch[name], nr: number, args });

  it("fits the kernel's limit of 4096 instructions", () => {
    expect(buildSeccompFilter(name, open).length / 8).toBeLessThan(4096);
  });

  it("lets ordinary calls pass", () => {
    for (const number of [nr.read, nr.execve, nr.memfd, nr.shmget, nr.affinity]) expect(judge(number)).toBe(ALLOW);
  });

  it("refuses dangerous calls, and answers as if io_uring and clone3 did not exist", () => {
    for (const number of [nr.ptrace, nr.mount, nr.keyctl]) expect(judge(number)).toBe(errno(1));
    for (const number of [425, 426, 427, 435]) expect(judge(number)).toBe(errno(38));
  });

  it("allows threads and forks but no new namespace", () => {
    expect(judge(nr.clone, [0x003d0f00])).toBe(ALLOW);
    expect(judge(nr.clone, [17])).toBe(ALLOW);
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
      expect(judge(nr.clone, [flag | 17])).toBe(errno(1));
  });

  it("allows local and IP sockets, but no raw or exotic ones", () => {
    const streamCloexec = 0x80001;
    for (const family of [1, 2, 10]) expect(judge(nr.socket, [family, streamCloexec, 0])).toBe(ALLOW);
    expect(judge(nr.socket, [16, 3, 0])).toBe(ALLOW);
    expect(judge(nr.socket, [16, 3, 9])).toBe(errno(97));
    for (const family of [2, 10]) expect(judge(nr.socket, [family, 0x80003, 1])).toBe(errno(1));
    for (const family of [17, 38, 40, 44, 31]) expect(judge(nr.socket, [family, 3, 0])).toBe(errno(97));
  });

  it("refuses typing into a terminal (TIOCSTI)", () => {
    expect(judge(nr.ioctl, [0, 0x5412])).toBe(errno(1));
    expect(judge(nr.ioctl, [0, 0x5401])).toBe(ALLOW);
  });

  it("kills a process that calls through another architecture", () => {
    const program = buildSeccompFilter(name, open);
    expect(evaluate(program, { arch: arch.x86, nr: 4 })).toBe(KILL);
  });

  it("refuses uncounted memory and affinity where no cgroup bounds them", () => {
    const strict = { refuseHiddenMemory: true, refuseAffinity: true };
    for (const number of [nr.memfd, nr.shmget, nr.affinity]) expect(judge(number, [], strict)).toBe(errno(1));
  });
});

it("the jail's x64 filter kills x32 calls", () => {
  expect(evaluate(buildSeccompFilter("x64", open), { arch: arch.x64, nr: 0x40000000 + 101 })).toBe(KILL);
});
