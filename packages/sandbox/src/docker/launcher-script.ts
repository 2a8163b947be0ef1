// What one engine exec runs in a session container: a shell that unpacks files if told to, then the guard (exit-guard-script.ts), which
// runs one command and ends with that command's exit code, which the engine itself reports. Invariants:
// 1. The exit code that counts is the engine's for this exec, and only together with the guard's own report of the same.
// 2. A line on stdin, or its end, kills the command and all it started: a worker that dies takes its command with it, and never
//    leaves one running into the next.
// 3. Processes that were there before this exec, and their children, are background work of earlier commands: not touched.
// 4. Shell and guard run from copies that the session's uid may run and not read (keeper-script.ts): their memory and
//    descriptors are closed to all other processes of that uid from their first instruction on.
//
// stdin   lines `unpack|look|processes|pack <bytes> <nonce>`, bounds of a look, + bytes, any number; then the guard's `run` line + script
// stdout  what `look`, `processes` and `pack` found, ended by their nonce; the command's output
// stderr  `<nonce> unpacked <code>`; then `<nonce> cpu <microseconds>` and `<nonce> oom <kills>`, both of the session so far, once
//         before and once after the command, the guard's other reports between them; last `<nonce> exit <code>`
// The command's output passes the guard, because a background process holds its pipe for as long as it lives. Holding the exec's
// own, it would die of SIGPIPE at a log line some seconds later, when the engine closes them, and the engine would not report
// the end of the next exec until then (measured on Engine 20.10: 3.6 s).
// The image needs what every Debian has: bash 4.4, coreutils, findutils, tar, perl-base.

import type { Look } from "../checkpoint/look.ts";
import { guardLine, RUN_GUARD, renderGuard } from "../exit-guard-script.ts";
import { WORKSPACE } from "../port.ts";
import { SESSION_PROGRAMS } from "./keeper-script.ts";
import { LOOK_FUNCTIONS } from "./look-script.ts";
import { RAISE_SCORE, withHighestScore } from "./memory-scores.ts";

// Scripts travel in the environment, not as arguments: `ps` in a session shows short lines.
const EVALUATE_LAUNCHER = `guard=$__mm_guard text=$__mm_launcher; unset \${!__mm_*}; eval "$text"`;
/** The first exec of a container may come before the keeper has made the copies. Nothing foreign runs yet. */
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

/** The exec that runs it. */
export const launcherExec = { command: withHighestScore(launcher), environment };

/** The same for the first exec of a container. */
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

/** What changed in the session is looked for (look-script.ts). */
export function lookLine(verb: LookVerb, bytes: number, nonce: string, { maxEntries, leftMs }: Look): string {
  return `${verb} ${bytes} ${nonce} ${maxEntries} ${Math.max(0.1, leftMs / 1000).toFixed(3)}\n`;
}

export function sweepLine(nonce: string): string {
  return `sweep 0 ${nonce}\n`;
}

export function runLine(bytes: number, nonce: string, processes: number, fresh: boolean): string {
  return guardLine(bytes, nonce, processes + LAUNCHER_PROCESSES, fresh);
}

/** What the launcher has said so far under this nonce. */
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
  /** The exit code of what was asked for before the command, once it has ended. */
  readonly unpacked: number | undefined;
  readonly cpuMsBefore: number;
  readonly exited: boolean;
  readonly outOfMemory: boolean;
}
