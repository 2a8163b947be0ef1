import { describe, expect, it } from "vitest";
import { seccompProfile } from "./seccomp-profile.ts";

const allowed = seccompProfile.syscalls.filter(({ action }) => action === "SCMP_ACT_ALLOW");
const named = (name: string) => allowed.filter(({ names }) => (names as readonly string[]).includes(name));

describe("the system call filter of a container", () => {
  it("refuses calls by default", () => {
    expect(seccompProfile.defaultAction).toBe("SCMP_ACT_ERRNO");
  });

  it.each(
    "keyctl add_key request_key bpf perf_event_open userfaultfd unshare setns mount umount2 pivot_root chroot ptrace process_vm_readv process_vm_writev init_module finit_module kexec_load open_by_handle_at name_to_handle_at io_uring_setup io_uring_enter clone3 swapon reboot settimeofday clock_settime syslog acct quotactl fsopen move_mount open_tree memfd_secret pidfd_getfd kcmp".split(
      " ",
    ),
  )("does not allow %s", (name) => {
    expect(named(name)).toEqual([]);
  });

  it("allows sockets only by family", () => {
    const rules = named("socket");
    expect(rules.every(({ args }) => args.some(({ index }) => index === 0))).toBe(true);
    expect(new Set(rules.map(({ args }) => args[0]?.value))).toEqual(new Set([1, 2, 10, 16]));
  });

  it("has no second architecture", () => {
    expect(seccompProfile.archMap.flatMap(({ subArchitectures }) => subArchitectures)).toEqual([]);
  });

  it("names no call twice without a condition", () => {
    const all = allowed.filter(({ args }) => args.length === 0).flatMap(({ names }) => names);
    expect(all.length).toBe(new Set(all).size);
  });
});
