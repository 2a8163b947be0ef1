// The bash text one engine exec runs in a session container: it unpacks files if told to, then runs one command (the shared
// session script) and ends with that command's exit code, which the engine itself reports. Invariants:
// 1. The exit code that counts is the engine's for this exec. Text on stderr only says when to ask for it: a forged line makes
//    the worker ask early and learn that the exec still runs.
// 2. A line on stdin, or its end, kills the command and all it started, with shell builtins only: it works when no process can
//    be forked. So a worker that dies takes its command with it, and never leaves one running into the next.
// 3. Processes that were there before this exec, and their children, are background work of earlier commands: not touched.
//
// stdin   lines `unpack|restore <bytes> <nonce>` + bytes, any number; then `run <bytes> <nonce> <processes>` + request text
// stdout  the command's output
// stderr  `<nonce> unpacked <code>`; then `<nonce> cpu <microseconds>` and `<nonce> oom <kills>`, both of the session so far, once
//         before and once after the command, the session script's own reports between them; last `<nonce> exit <code>`
// Both streams pass a relay, because a background process holds its pipes for as long as it lives. Holding the exec's own, it
// would die of SIGPIPE at a log line some seconds later, when the engine closes them, and the engine would not report the end
// of the next exec until then (measured on Engine 20.10: 3.6 s). The relay lets go of the exec when the command has ended.
// The image needs what every Debian has: bash 4.4, coreutils, findutils, tar, setsid, perl-base.

import { WORKSPACE } from "../port.ts";
import { SESSION_SCRIPT } from "../session-script.ts";

// Scripts travel in the environment, not as arguments: `ps` in a session shows short lines.
const EVALUATE_SESSION = `__mm_text=$__mm_script; unset __mm_script; eval "$__mm_text"`;
const EVALUATE_LAUNCHER = `session=$__mm_session relay=$__mm_relay text=$__mm_launcher; unset \${!__mm_*}; eval "$text"`;

// Descriptors: 0 the command's output, 1 answers to the launcher, 3 reports, 4 and 5 the exec's stdout and stderr. Told to let go
// it passes on what is there, at most a mebibyte of what a busy background process adds, then only drains.
const RELAY = `
  $SIG{PIPE} = "IGNORE";
  $SIG{USR1} = sub { $over = 1 };
  open REPORT, "<&=3"; open OUT, ">&=4"; open ERR, ">&=5";
  syswrite STDOUT, "ready\\n";
  $extra = 1 << 20;
  sub pass {
    my ($from, $to) = @_;
    my $size = sysread $from, my $bytes, 65536;
    return $size unless $size;
    $extra -= $size if $over;
    for (my $at = 0; $to && $at < $size;) {
      my $sent = syswrite $to, $bytes, $size - $at, $at;
      last if !defined $sent && $! != 4;
      $at += $sent;
    }
    return $size;
  }
  sub readable {
    my ($set, $timeout) = ("", @_);
    vec($set, $_, 1) = 1 for 0, 3;
    return select($set, undef, undef, $timeout) > 0 ? $set : "";
  }
  until ($over && $extra < 0) {
    my $last = $over;
    my $set = readable($last ? 0 : undef);
    last if $last && $set eq "";
    pass(*REPORT, *ERR) if vec($set, 3, 1);
    next unless vec($set, 0, 1);
    my $size = pass(*STDIN, *OUT);
    $over = $ended = 1 if defined $size && !$size;
    last if $ended && !vec($set, 3, 1);
  }
  close OUT; close ERR; close STDOUT;
  exit if $ended;
  while (1) { my $size = pass(*STDIN); exit if defined $size && !$size }
`;

const LAUNCHER = `
umask 022
set -f
while IFS=' ' read -r verb size nonce processes; do
  case $verb in
    unpack | restore)
      [[ $verb == unpack ]] || find ${WORKSPACE} -mindepth 1 -delete
      head -c "$size" | tar -x -C ${WORKSPACE} --no-same-owner -f - >/dev/null
      printf '%s unpacked %s\\n' "$nonce" "\${PIPESTATUS[1]}" >&2
      ;;
    *) break ;;
  esac
done
[[ $verb == run ]] || exit 0
request=$(head -c "$size")

say_usage() {
  local name value file
  for file in /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpuacct/cpuacct.usage; do
    [[ -r $file ]] || continue
    while read -r name value; do
      [[ -n $value ]] || printf '%s cpu %s\\n' "$nonce" "$((name / 1000))" >&2
      [[ $name != usage_usec ]] || printf '%s cpu %s\\n' "$nonce" "$value" >&2
    done <"$file"
  done
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [[ -r $file ]] || continue
    while read -r name value; do
      [[ $name != oom_kill ]] || printf '%s oom %s\\n' "$nonce" "$value" >&2
    done <"$file"
  done
}

read_stat() {
  local line
  { IFS= read -r -d '' line </proc/"$1"/stat; } 2>/dev/null
  [[ -n $line ]] || return 1
  stat=(\${line##*) })
}

sweep() {
  local round path pid ancestor spared stat
  for ((round = 0; round < 40; round++)); do
    local -A parents=() starts=()
    local doomed=()
    set +f
    for path in /proc/[0-9]*; do
      read_stat "\${path#/proc/}" || continue
      [[ \${stat[0]} == Z ]] && continue
      parents[\${path#/proc/}]=\${stat[1]}
      starts[\${path#/proc/}]=\${stat[19]}
    done
    set -f
    for pid in "\${!parents[@]}"; do
      ((pid == 1 || pid == $$ || pid == BASHPID || pid == drain)) && continue
      spared=
      ancestor=$pid
      while ((ancestor > 1)) && [[ -n \${parents[$ancestor]-} ]]; do
        ((\${starts[$ancestor]} < begun)) && spared=1
        ancestor=\${parents[$ancestor]}
      done
      [[ -n $spared ]] || doomed+=("$pid")
    done
    ((\${#doomed[@]} > 0)) || return 0
    kill -KILL "\${doomed[@]}"
  done
  kill -KILL -1
}

read_stat $$
begun=\${stat[19]}
say_usage
exec {reports}<> <(:) {stdout}>&1
coproc RELAY {
  __mm_relay=$relay exec perl -e 'eval $ENV{__mm_relay}' 3<&"$reports" 4>&"$stdout" 5>&2 2>/dev/null {reports}>&- {stdout}>&-
}
drain=$RELAY_PID
exec {output}>&"\${RELAY[1]}" {answers}<&"\${RELAY[0]}"
eval "exec \${RELAY[0]}<&- \${RELAY[1]}>&-"
exec >/dev/null {stdout}>&-
(
  ulimit -u "$processes" || exit 125
  exec setsid env -i __mm_script="$session" bash --noprofile --norc -c '${EVALUATE_SESSION}'
) < <(printf '%s' "$request") >&"$output" 2>&"$reports" {output}>&- {reports}>&- {answers}<&- &
command=$!
exec {output}>&- {reports}>&-
(
  exec 2>/dev/null
  IFS= read -r _
  trap '' TERM
  kill -TERM -- "-$command"
  for ((round = 0; round < 20; round++)); do
    kill -0 -- "-$command" || break
    read -r -t 0.01 _
  done
  sweep
) <&0 &
watcher=$!
wait "$command" 2>/dev/null
code=$?
{
  kill -TERM "$watcher"
  wait "$watcher"
  read -r -u "$answers" _
  for ((round = 0; round < 40; round++)); do
    kill -USR1 "$drain" || break
    read -r -t 0.05 -u "$answers" _
    (($? > 128)) || break
  done
} 2>/dev/null
say_usage
printf '%s exit %s\\n' "$nonce" "$code" >&2
exit "$code"
`;

/** The exec that runs it. */
export const launcherExec = {
  command: ["bash", "--noprofile", "--norc", "-c", EVALUATE_LAUNCHER],
  environment: [`__mm_launcher=${LAUNCHER}`, `__mm_session=${SESSION_SCRIPT}`, `__mm_relay=${RELAY}`],
};

/** Processes of the launcher itself that count against the session's uid: launcher, watcher, relay, and one to feed a request. */
export const LAUNCHER_PROCESSES = 4;

export function unpackLine(verb: "unpack" | "restore", bytes: number, nonce: string): string {
  return `${verb} ${bytes} ${nonce}\n`;
}

export function runLine(bytes: number, nonce: string, processes: number): string {
  return `run ${bytes} ${nonce} ${processes + LAUNCHER_PROCESSES}\n`;
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
  /** The exit code of tar, once it has ended. */
  readonly unpacked: number | undefined;
  readonly cpuMsBefore: number;
  readonly exited: boolean;
  readonly outOfMemory: boolean;
}
