// The argument lists that make a jail and enter it. Pure. The same chain serves root and ordinary users:
//   (enter the cgroup) -> become the jail's uid (root only) -> keep to its cores -> ... -> foreign code
// Invariants:
// 1. Foreign code is uid 1000 of a user namespace below the jail's, without capabilities, with no_new_privs and the filter.
// 2. The limit of processes is set inside the jail's user namespace and before the inner one is made: the kernel then counts
//    all processes of the jail against it, and no other process of the same user.
// 3. Foreign code starts with an empty environment. Every bash has --norc: with a socket on stdin it would read ~/.bashrc.
// 4. `--root --wd` without a value: nsenter would open a given directory on the host before it enters.

import { defaultLimits, type Limits } from "../limits.ts";
import { SESSION_SCRIPT } from "../session-script.ts";
import type { SessionCgroup } from "./cgroup.ts";
import type { JailHost } from "./detect-host.ts";
import { buildSeccompFilter } from "./seccomp-filter.ts";

export interface JailShape {
  readonly limits: Limits;
  /** Any whole number, fixed for the session. */
  readonly number: number;
  readonly uid?: number;
  readonly cgroup?: SessionCgroup;
}

export interface Launch {
  readonly argv: readonly [string, ...string[]];
  /** To be written to the child's file descriptor 3, when there is something to write. */
  readonly fd3?: Buffer;
}

const FILTER_FD = 3;

const ENTER_CGROUP = 'while [[ $1 != -- ]]; do echo $$ >"$1/cgroup.procs" || exit 120; shift; done; shift; exec "$@"';

/** By name: whole paths of executable files outside /usr. */
export type Programs = Readonly<Record<string, string>>;

/**
 * Root may read a program where the jail's uid may not (a private home): it is bound to a place all can reach, in a mount
 * namespace that only this jail's holder inherits.
 */
const LENDING = "/mnt";
const LEND =
  `set -e; mount -t tmpfs -o size=64k,mode=755 programs ${LENDING}; ` +
  `while [[ $1 != -- ]]; do : >"${LENDING}/$1"; mount --bind "$2" "${LENDING}/$1"; shift 2; done; shift; exec "$@"`;

/** Loads a filter given in hex, then becomes the command. prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &sock_fprog). */
const LOAD_FILTER =
  '%ENV = (); my $f = pack("H*", shift); my $p = pack("S x6 P", length($f) / 8, $f); ' +
  'syscall(NUMBER, 22, 2, $p) == 0 or die "seccomp: $!\\n"; exec { $ARGV[0] } @ARGV or die "exec: $!\\n";';
const prctlNumber = { x64: "157", arm64: "167" } as const;

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
  "--",
];

/** Makes a jail's namespaces for nothing, to see whether this machine allows them. */
export function trialLaunch(host: JailHost, uid: number | undefined): Launch {
  const shape = { limits: defaultLimits, number: 0, ...(uid === undefined ? {} : { uid }) };
  return { argv: chain(host, shape, [host.tools.unshare, ...NAMESPACES, host.tools.bash, "--norc", "-c", ":"]) };
}

/** The script goes to stdin; one more line lets the holder live on (jail-root-script, invariant 1). */
export function holderLaunch(host: JailHost, shape: JailShape, seconds: number, programs: Programs): Launch {
  const { tools } = host;
  const { diskBytes, memoryBytes } = shape.limits;
  // Not in the cgroup: the kernel must never choose the holder when the session is out of memory.
  const { cgroup: _, ...outside } = shape;
  const entries = Object.entries(programs);
  const lent = shape.uid !== undefined && entries.length > 0;
  const lend = lent
    ? [tools.unshare, "--mount", "--", tools.bash, "--norc", "-c", LEND, "lend", ...entries.flat(), "--"]
    : [];
  const shown = entries.flatMap(([name, path]) => [name, lent ? `${LENDING}/${name}` : path]);
  const [program, ...args] = [
    ...lend,
    ...chain(host, outside, [
      tools.unshare,
      ...NAMESPACES,
      ...[tools.bash, "--noprofile", "--norc", "-s", "--", String(diskBytes), String(seconds), String(memoryBytes)],
      ...shown,
    ]),
  ];
  return { argv: [program ?? tools.bash, ...args] };
}

/** Runs the session script in the jail. */
export function scriptLaunch(host: JailHost, shape: JailShape, holderPid: number): Launch {
  return toolLaunch(host, shape, holderPid, [host.tools.bash, "--noprofile", "--norc", "-c", SESSION_SCRIPT, "bash"]);
}

/** Runs a program, given by its whole path, in the jail, confined like any command. */
export function toolLaunch(host: JailHost, shape: JailShape, holderPid: number, command: readonly string[]): Launch {
  const { tools, loader } = host;
  const filter = buildSeccompFilter(host.architecture, {
    refuseHiddenMemory: shape.cgroup === undefined,
    refuseAffinity: shape.cgroup === undefined,
  });
  const enter = [
    ...[tools.nsenter, "--target", String(holderPid)],
    ...["--user", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"],
    ...["--preserve-credentials", "--root", "--wd", "--"],
    // One byte, not none: with a limit of 0 the kernel still starts the host's crash handler, where core_pattern is a pipe.
    ...[tools.prlimit, `--nproc=${Math.min(shape.limits.pids + 2, host.hardLimits.processes)}`],
    ...[`--core=${Math.min(1, host.hardLimits.coreBytes)}`, "--"],
  ];
  if (loader.kind === "bwrap") {
    return {
      argv: chain(host, shape, [
        ...enter,
        ...[loader.path, "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--clearenv"],
        ...["--dev-bind", "/", "/", "--chdir", "/workspace", "--seccomp", String(FILTER_FD), "--"],
        ...command,
      ]),
      fd3: filter,
    };
  }
  return {
    argv: chain(host, shape, [
      ...enter,
      ...[tools.unshare, "--user", "--map-user=1000", "--map-group=1000", "--"],
      ...[tools.setpriv, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"],
      ...[loader.path, "-e", LOAD_FILTER.replace("NUMBER", prctlNumber[host.architecture]), filter.toString("hex")],
      ...command,
    ]),
  };
}

function chain(host: JailHost, shape: JailShape, rest: readonly string[]): [string, ...string[]] {
  const { tools } = host;
  const words = [
    ...(shape.cgroup === undefined
      ? []
      : [tools.bash, "--noprofile", "--norc", "-c", ENTER_CGROUP, "cgroup", ...shape.cgroup.paths, "--"]),
    ...(shape.uid === undefined
      ? []
      : [tools.setpriv, `--reuid=${shape.uid}`, `--regid=${shape.uid}`, "--clear-groups", "--"]),
    ...(shape.cgroup === undefined
      ? [tools.taskset, "--cpu-list", coresFor(host.cores, shape.limits.cpus, shape.number)]
      : []),
    ...rest,
  ];
  const [program = tools.bash, ...args] = words;
  return [program, ...args];
}

/** Whole cores, another first one for each session, so that sessions spread. */
export function coresFor(available: readonly number[], wanted: number, sessionNumber: number): string {
  const count = Math.min(available.length, Math.max(1, Math.ceil(wanted)));
  return Array.from({ length: count }, (_, index) => available[(sessionNumber + index) % available.length]).join(",");
}
