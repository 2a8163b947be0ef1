// Probes that try to reach files, devices and secrets of the host.

import { type Probe, probeOutput } from "./probe.ts";

const lacks = (token: string) => (output: string) => !output.includes(token);

export const fileProbes: readonly Probe[] = [
  {
    name: "read a host file",
    run: ({ session, canary }) => probeOutput(session, `cat ${canary.path} 2>&1`, lacks(canary.token)),
  },
  {
    name: "climb out by the working directory",
    run: ({ session, canary }) =>
      probeOutput(
        session,
        `for up in /proc/self/cwd /proc/self/root /proc/$PPID/cwd /proc/$PPID/root /proc/1/cwd /proc/1/root; do
  cat "$up${canary.path}" "$up/..${canary.path}" "$up/../../../../..${canary.path}" 2>&1
done`,
        lacks(canary.token),
      ),
  },
  {
    name: "climb out by an open file descriptor",
    run: ({ session, canary }) =>
      probeOutput(
        session,
        `for fd in /proc/[0-9]*/fd/*; do [ -d "$fd/" ] && cat "$fd${canary.path}" "$fd/../../../..${canary.path}"; done 2>&1`,
        lacks(canary.token),
      ),
  },
  {
    name: "symlink out of the workspace",
    run: ({ session, canary }) =>
      probeOutput(
        session,
        `rm -f out; ln -s / out && cat "out${canary.path}"; ln -sfn ${canary.path} out; cat out; rm -f out`,
        lacks(canary.token),
      ),
  },
  {
    name: "write the root file system",
    run: ({ session }) =>
      probeOutput(
        session,
        `for d in / /usr /usr/bin /usr/lib /bin /etc /dev /proc /sys /root /home /var /opt /boot; do
  { : >"$d/probe-write"; } 2>/dev/null && echo "wrote $d"
done; true`,
        lacks("wrote "),
      ),
  },
  {
    name: "change a system program",
    run: ({ session }) =>
      probeOutput(
        session,
        `for f in /usr/bin/env /bin/bash /etc/passwd /etc/group; do { : >>"$f"; } 2>/dev/null && echo "opened $f"; done; true`,
        lacks("opened "),
      ),
  },
  {
    name: "read a secret of /etc",
    run: ({ session }) =>
      probeOutput(
        session,
        `cat /etc/shadow* /etc/gshadow* /etc/sudoers /etc/sudoers.d/* /etc/ssh/*_key /etc/ssl/private/* /etc/krb5.keytab /etc/docker/* 2>/dev/null
grep -rl -e '-----BEGIN [A-Z ]*PRIVATE KEY' /etc 2>/dev/null; true`,
        (output) => output === "",
      ),
  },
  {
    name: "make or open a device node",
    run: ({ session }) =>
      probeOutput(
        session,
        `rm -f node; mknod node b 7 0 2>&1 && head -c 1 node >/dev/null && echo opened
for d in /dev/mem /dev/kmsg /dev/kvm /dev/fuse /dev/loop0 /dev/sda /dev/vda /dev/nvme0n1; do
  { head -c 1 "$d" >/dev/null; } 2>/dev/null && echo "opened $d"
done; rm -f node; true`,
        lacks("opened"),
      ),
  },
  {
    name: "escape through /proc",
    run: ({ session, canary }) =>
      probeOutput(
        session,
        `for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger /proc/sys/vm/drop_caches /proc/1/mem; do
  { exec 7>>"$f"; } 2>/dev/null && echo "opened $f"
done
for f in /proc/kcore /proc/kmsg; do
  n=$(timeout 1 head -c 64 "$f" 2>/dev/null | wc -c); [ "$n" -gt 0 ] && echo "opened $f"
done; cat /proc/1/root${canary.path} 2>&1`,
        (output) => !output.includes("opened ") && !output.includes(canary.token),
      ),
  },
  {
    name: "find secrets in the environment",
    run: ({ session, environmentNames }) => {
      const known = new Set([...environmentNames, "PWD", "OLDPWD", "SHLVL", "_"]);
      return probeOutput(session, "env -0 | tr '\\n\\0' ' \\n' | cut -d= -f1", (output) =>
        output
          .trim()
          .split("\n")
          .every((name) => known.has(name)),
      );
    },
  },
  {
    name: "find the container engine's socket",
    run: ({ session }) =>
      probeOutput(
        session,
        `for s in /var/run/docker.sock /run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock /run/crio/crio.sock \\
  /run/dbus/system_bus_socket /run/systemd/private; do [ -e "$s" ] && echo "found $s"; done; true`,
        lacks("found "),
      ),
  },
];
