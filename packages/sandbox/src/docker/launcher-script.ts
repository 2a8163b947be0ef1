// The launcher is the script of one engine exec in a session container. This shell unpacks files on request, then becomes the guard
// (exit-guard-script.ts). The guard runs one command and ends with its exit code, which the engine reports. Invariants:
// 1. Only the exit code that the engine reports for this exec counts, and only if the guard reports the same code.
// 2. A line on stdin, or its end, kills the command and all processes it started. So a worker that crashes takes its command with it, and
//    never leaves one running beside the next.
// 3. Processes from before this exec, and their children, are background work of earlier commands: they are not touched.
// 4. Shell and guard run from copies that the session's uid may run but not read (keeper-script.ts): their memory and descriptors are
//    closed to all other processes of that uid from their first instruction on.
//
// stdin   lines `unpack|look|processes|pack <bytes> <nonce>`, with bounds for a scan, + bytes, any number; then the guard's `run` line +
//         script
// stdout  the results of `look`, `processes` and `pack`, each ended by its nonce; the command's output
// stderr  `<nonce> unpacked <code>`; then `<nonce> cpu <microseconds>` and `<nonce> oom <kills>`, both of the session so far, once
//         before and once after the command, the guard's other reports between them; last `<nonce> exit <code>`
// The command's output passes through the guard, because a background process holds its pipe as long as it lives. If the process held the
// exec's own pipe, it would die of SIGPIPE on its next output when the engine closes the pipe some seconds later. The engine would not
// report the end of the next exec until then (measured on Engine 20.10: 3.6 s).
// The image needs the programs that every Debian has: bash 4.4, coreutils, findutils, tar, perl-base.

import type { Look } from "../checkpoint/look.ts";
import { guardLine, RUN_GUARD, renderGuard } from "../exit-guard-script.ts";
import { WORKSPACE } from "../port.ts";
import { SESSION_PROGRAMS } from "./keeper-script.ts";
import { LOOK_FUNCTIONS } from "./look-script.ts";
import { RAISE_SCORE, withHighestScore } from "./memory-scores.ts";

// Scripts are passed in the environment, not as arguments, so that `ps` in a session shows short lines.
const EVALUATE_LAUNCHER = `guard=$__mm_guard text=$__mm_launcher; unset \${!__mm_*}; eval "$text"`;
/** The first exec of a container may start before the keeper has made the copies. No foreign process runs yet. */
const AWAIT_PROGRAMS = `exec {idle}<> <(:); until [[ -x ${SESSION_PROGRAMS}/perl ]]; do read -r -t 0.005 -u "$idle" _; done; exec {idle}>&-`;

const GUARD = renderGuard({
  adapter: `
my $bash = "${SESSION_PROGRAMS}/bash";
sub confine { my $most = $_[0] + 0; call(302, 261, 0, 6, pack("QQ", $most, $most), 0) == 0 or die "prlimit: $!\\n" }
sub settle {}
sub numbers { open my $file, "<", $_[0] or return; return map { [split] } <$file> }
sub usage {
  my ($cpu) = map { $_->[1] } grep { $_->[0] eq "usage_usec" } numbers("/sys/fs/cgroup/cpu.stat");
  ($cpu) = map { int($_->[0] / 1000) } numbers("/sys/fs/cgroup/cpuacct/cpuacct.usage") unless defined $cpu;
  report("cpu", $cpu) if defined $cpu;
  my @counts = (numbers("/sys/fs/cgroup/memory.events"), numbers("/sys/fs/cgroup/memory/memory.oom_control"));
  report("oom", $_->[1]) for grep { $_->[0] eq "oom_kill" } @counts;
}
`,
});

const LAUNCHER = `
umask 022
${LOOK_FUNCTIONS}
set -f
while IFS=' ' read -r verb size nonce rest; do
  case $verb in
    unpack)
      head -c "$size" | tar -x -C ${WORKSPACE} --no-same-owner -f - >/dev/null
      printf '%s unpacked %s\\n' "$nonce" "\${PIPESTATUS[1]}" >&2
      ;;
    look | processes | pack)
      "$verb" "$size" $rest
      code=$?
      printf '%s' "$nonce"
      printf '%s unpacked %s\\n' "$nonce" "$code" >&2
      ;;
    sweep)
      for round in 1 2 3; do kill -KILL -1; done 2>/dev/null
      printf '%s unpacked 0\\n' "$nonce" >&2
      ;;
    *) break ;;
  esac
done
[[ $verb == run ]] || exit 0
__mm_run="run $size $nonce $rest" __mm_guard=$guard exec ${SESSION_PROGRAMS}/perl -e '${RUN_GUARD}'
`;

const environment = [`__mm_launcher=${LAUNCHER}`, `__mm_guard=${GUARD}`];

const launcher = [`${SESSION_PROGRAMS}/bash`, "--noprofile", "--norc", "-c", EVALUATE_LAUNCHER];

/** The exec that runs the launcher. */
export const launcherExec = { command: withHighestScore(launcher), environment };

/** The exec that runs the launcher for the first time in a container. */
export const firstLauncherExec = {
  command: [
    ...["bash", "--noprofile", "--norc", "-c", `${RAISE_SCORE}; ${AWAIT_PROGRAMS}; exec "$@"`, "bash"],
    ...launcher,
  ],
  environment,
};

/** Processes besides the session's own that count against its uid: the guard, and a drain for each earlier command's leftovers. */
const LAUNCHER_PROCESSES = 3;

export function unpackLine(bytes: number, nonce: string): string {
  return `unpack ${bytes} ${nonce}\n`;
}

export type LookVerb = "look" | "processes" | "pack";

/** The line that asks the launcher to scan the session (look-script.ts). */
export function lookLine(verb: LookVerb, bytes: number, nonce: string, { maxEntries, leftMs }: Look): string {
  return `${verb} ${bytes} ${nonce} ${maxEntries} ${Math.max(0.1, leftMs / 1000).toFixed(3)}\n`;
}

export function sweepLine(nonce: string): string {
  return `sweep 0 ${nonce}\n`;
}

export function runLine(bytes: number, nonce: string, processes: number, fresh: boolean): string {
  return guardLine(bytes, nonce, processes + LAUNCHER_PROCESSES, fresh);
}

/** The launcher's reports so far under this nonce. */
export function parseLauncherReport(nonce: string, text: string): LauncherReport {
  const said = (kind: string) =>
    [...text.matchAll(new RegExp(`^${nonce} ${kind} (\\d{1,15})$`, "gm"))].map((match) => Number(match[1]));
  const kills = said("oom");
  return {
    unpacked: said("unpacked").at(-1),
    cpuMsBefore: (said("cpu")[0] ?? 0) / 1000,
    exited: said("exit").length > 0,
    outOfMemory: (kills.at(-1) ?? 0) > (kills[0] ?? 0),
  };
}

export interface LauncherReport {
  /** The exit code of the last request before the command, once that request has ended. */
  readonly unpacked: number | undefined;
  readonly cpuMsBefore: number;
  readonly exited: boolean;
  readonly outOfMemory: boolean;
}
