// Builds the argument lists that create a jail and enter it, and the perl scripts in them. Pure. Root and ordinary users share the same
// chain:
//   enter (close descriptors, cgroup, uid, cores) -> nsenter -> guard (exit-guard-script.ts) -> foreign code
// Invariants:
// 1. Foreign code is uid 1000 of a user namespace below the jail's. The namespace is created for this command, without capabilities (with
//    an empty bounding set too), with no_new_privs and the filter. The guard stays in the jail's own user namespace, without capabilities:
//    the guarded processes have no access to its memory.
// 2. The limit of processes is set inside the jail's user namespace, before the inner one is created. So the kernel counts all processes of
//    the jail against it, and no other process of the same user.
// 3. Foreign code starts with an empty environment. Every bash has --norc: with a socket on stdin it would read ~/.bashrc.
// 4. `--root --wd` have no value: nsenter would open a given directory on the host before it enters.
// 5. The first program of a chain closes all descriptors above stderr, regardless of what the worker inherited; the guard closes them
//    again.
// 6. The command's shell is a copy of bash that no user may read: the kernel protects its memory from processes of the same user.

import { RUN_GUARD, renderGuard, SYSTEM_CALLS } from "../exit-guard-script.ts";
import { LEASE_MS } from "../lease.ts";
import { defaultLimits, type Limits } from "../limits.ts";
import type { SessionCgroup } from "./cgroup.ts";
import type { JailHost } from "./detect-host.ts";
import { buildSeccompFilter } from "./seccomp-filter.ts";

export interface JailShape {
  readonly limits: Limits;
  /** Any integer, fixed for the session. */
  readonly number: number;
  readonly uid?: number;
  readonly cgroup?: SessionCgroup;
}

export interface Launch {
  readonly argv: readonly [string, ...string[]];
  /** Variables for the first program, besides PATH. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The directory in which a jail keeps the shell of its commands. */
export const SHELL_DIRECTORY = "/opt/session";
/** The holder, the launcher outside the jail and the guard count as processes of the session. */
export const LAUNCH_PROCESSES = 3;

/** Arguments: paths of cgroup directories, `--`, a uid or `-`, cores or `-`, then the program to become. */
const ENTER = `${SYSTEM_CALLS}
close_above_stderr();
while ((my $path = shift) ne "--") {
  open my $file, ">", "$path/cgroup.procs" or die "cgroup: $path: $!\\n";
  syswrite $file, $$ or die "cgroup: $path: $!\\n";
}
my ($uid, $cores) = (shift, shift);
if ($cores ne "-") {
  my $mask = "\\0" x 128;
  vec($mask, $_, 1) = 1 for split /,/, $cores;
  call(203, 122, 0, 128, $mask) == 0 or die "affinity: $!\\n";
}
if ($uid ne "-") {
  $uid += 0;
  call(116, 159, 0, 0) == 0 && call(119, 149, $uid, $uid, $uid) == 0 && call(117, 147, $uid, $uid, $uid) == 0
    or die "uid: $!\\n";
}
exec { $ARGV[0] } @ARGV or die "exec $ARGV[0]: $!\\n";
`;

/** No capability can return: not by exec, not by a set-user-id file, not as root of a namespace. */
const CONFINE = `
my ($filter, $core) = (pack("H*", delete $ENV{__mm_filter}), delete $ENV{__mm_core});
sub write_file {
  open my $file, ">", $_[0] or die "$_[0]: $!\\n";
  syswrite $file, $_[1] or die "write failed $_[0]: $!\\n";
}
sub limit { my ($name, $most) = @_; call(302, 261, 0, $name, pack("QQ", $most, $most), 0) == 0 or die "prlimit $name: $!\\n" }
sub drop_rights {
  # Beyond the last capability the kernel says EINVAL.
  for (0 .. 63) { prctl(24, $_) == 0 || $! == 22 or die "bounding set: $!\\n" }
  prctl(28, 0xef) == 0 or die "securebits: $!\\n";
  prctl(47, 4) == 0 or die "ambient set: $!\\n";
  call(126, 91, pack("LL", 0x20080522, 0), pack("L6", (0) x 6)) == 0 or die "capset: $!\\n";
  prctl(38, 1) == 0 or die "no_new_privs: $!\\n";
  my $program = pack("S x6 P", length($filter) / 8, $filter);
  call(157, 167, 22, 2, $program, 0, 0) == 0 or die "seccomp: $!\\n";
}
sub confine {
  my ($processes) = @_;
  limit(4, $core + 0);
  limit(6, $processes + 0);
  call(272, 97, 0x10000000) == 0 or die "unshare failed: $!\\n";
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "1000 0 1\\n");
  write_file("/proc/self/gid_map", "1000 0 1\\n");
  drop_rights();
}
`;

const GUARD = renderGuard({
  adapter: `${CONFINE}
my $bash = "${SHELL_DIRECTORY}/bash";
sub settle { drop_rights() }
sub usage {}
`,
});

/** For a program that needs no guard: the process is confined and becomes the program. Arguments: the limit of processes, the program. */
const TOOL = `${SYSTEM_CALLS}${CONFINE}
close_above_stderr();
call(112, 157);
confine(shift);
%ENV = ();
exec { $ARGV[0] } @ARGV or die "exec $ARGV[0]: $!\\n";
`;

/** Absolute paths of executable files outside /usr, by name. */
export type Programs = Readonly<Record<string, string>>;

/**
 * Root may read a program where the jail's uid may not (a private home). So the program is bound to a place that all users can reach, in a
 * mount namespace that only this jail's holder inherits.
 */
const LENDING = "/mnt";
const LEND =
  `set -e; mount -t tmpfs -o size=64k,mode=755 programs ${LENDING}; ` +
  `while [[ $1 != -- ]]; do : >"${LENDING}/$1"; mount --bind "$2" "${LENDING}/$1"; shift 2; done; shift; exec "$@"`;

const NAMESPACES = [
  "--user",
  "--map-root-user",
  "--mount",
  "--pid",
  "--net",
  "--ipc",
  "--uts",
  "--cgroup",
  "--fork",
  // Killing unshare then also kills the namespace's first process.
  "--kill-child",
  "--",
];

/** Creates a jail's namespaces as a trial, to see whether this machine allows them. */
export function trialLaunch(host: JailHost, uid: number | undefined): Launch {
  const shape = { limits: defaultLimits, number: 0, ...(uid === undefined ? {} : { uid }) };
  return { argv: chain(host, shape, [host.tools.unshare, ...NAMESPACES, host.tools.bash, "--norc", "-c", ":"]) };
}

/** The holder reads a tar for /etc from stdin. One more line keeps the holder alive (jail-root-script, invariant 1). */
export function holderLaunch(
  host: JailHost,
  shape: JailShape,
  script: string,
  holder: {
    readonly seconds: number;
    readonly programs: Programs;
    /** Read-only trees. */
    readonly trees: readonly string[];
    readonly scratch: string;
    readonly etcBytes: number;
  },
): Launch {
  const { seconds, programs, trees, scratch, etcBytes } = holder;
  const { tools } = host;
  const { diskBytes, memoryBytes } = shape.limits;
  // Not in the cgroup: the kernel must never choose the holder when the session is out of memory.
  const { cgroup: _, ...outside } = shape;
  const entries = Object.entries(programs);
  const lent = shape.uid !== undefined && entries.length > 0;
  const lend = lent
    ? enter(
        host,
        [],
        [...[tools.unshare, "--mount", "--", tools.bash, "--norc", "-c", LEND, "lend", ...entries.flat(), "--"]],
      )
    : [];
  const shown = entries.flatMap(([name, path]) => [name, lent ? `${LENDING}/${name}` : path]);
  const [program = tools.bash, ...args] = [
    ...lend,
    ...chain(host, outside, [
      tools.unshare,
      ...NAMESPACES,
      ...[tools.perl, "-e", script, "--", String(diskBytes), String(seconds), String(memoryBytes)],
      ...[String(LEASE_MS / 1000), String(etcBytes), tools.bash, tools.tar, trees.join(" "), scratch, ...shown],
    ]),
  ];
  return { argv: [program, ...args] };
}

/** Runs commands in the jail: starts the guard, which waits for its run line. */
export function guardLaunch(host: JailHost, shape: JailShape, holderPid: number): Launch {
  return {
    argv: chain(host, shape, [...intoJail(host, holderPid), host.tools.perl, "-e", RUN_GUARD]),
    environment: { __mm_guard: GUARD, ...confinement(host, shape) },
  };
}

/** Runs a program in the jail by its absolute path, confined like any command. */
export function toolLaunch(host: JailHost, shape: JailShape, holderPid: number, command: readonly string[]): Launch {
  const run = [host.tools.perl, "-e", RUN_GUARD, String(processesOf(host, shape)), ...command];
  return {
    argv: chain(host, shape, [...intoJail(host, holderPid), ...run]),
    environment: { __mm_guard: TOOL, ...confinement(host, shape) },
  };
}

/** The limit of processes that is set for foreign code. */
export function processesOf(host: JailHost, shape: JailShape): number {
  return Math.min(shape.limits.pids + LAUNCH_PROCESSES, host.hardLimits.processes);
}

function intoJail({ tools }: JailHost, holderPid: number): string[] {
  return [
    ...[tools.nsenter, "--target", String(holderPid)],
    ...["--user", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"],
    ...["--preserve-credentials", "--root", "--wd", "--"],
  ];
}

function confinement(host: JailHost, shape: JailShape): Record<string, string> {
  const filter = buildSeccompFilter(host.architecture, {
    refuseHiddenMemory: shape.cgroup === undefined,
    refuseAffinity: shape.cgroup === undefined,
  });
  // One byte, not zero: if core_pattern is a pipe, the kernel starts the host's crash handler even with a limit of 0.
  return { __mm_filter: filter.toString("hex"), __mm_core: String(Math.min(1, host.hardLimits.coreBytes)) };
}

function chain(host: JailHost, shape: JailShape, rest: readonly string[]): [string, ...string[]] {
  const cores = shape.cgroup === undefined ? coresFor(host.cores, shape.limits.cpus, shape.number) : "-";
  return enter(host, shape.cgroup?.paths ?? [], rest, shape.uid, cores);
}

function enter(
  { tools }: JailHost,
  cgroups: readonly string[],
  rest: readonly string[],
  uid?: number,
  cores = "-",
): [string, ...string[]] {
  return [tools.perl, "-e", ENTER, "--", ...cgroups, "--", String(uid ?? "-"), cores, ...rest];
}

/** Whole cores. Each session starts at a different core, so that sessions spread. */
export function coresFor(available: readonly number[], wanted: number, sessionNumber: number): string {
  const count = Math.min(available.length, Math.max(1, Math.ceil(wanted)));
  return Array.from({ length: count }, (_, index) => available[(sessionNumber + index) % available.length]).join(",");
}
