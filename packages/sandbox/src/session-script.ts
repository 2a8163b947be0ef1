// The bash text that runs inside a session around each command, the same for every adapter. Needs bash 4.4, `env`, `cat` and
// `base64`. Invariants:
// 1. A fresh bash per command: `exit`, `exec`, `set -e` or a syntax error end that bash, never the session.
// 2. What a command prints cannot be taken for a report: reports travel on the wrapper's own stderr, each line led by a nonce
//    drawn for this command; the command's stdout and stderr both go to stdout.
// 3. The host never evaluates state that comes back; it goes back into a session, quoted by `quoteForBash`.
//
// How an adapter uses it:
//   start   bash --noprofile --norc -c SESSION_SCRIPT     with an empty environment, as a process group leader
//   stdin   renderRequest(...), then end of file          (the command itself reads from /dev/null)
//   stdout  the command's output, then endMarker(nonce)   everything before the marker belongs to the command
//   stderr  lines for parseReport(nonce, text)            `start <pid>` at once, `state` and `end <exit code>` at the end
// A background process may hold both streams open long after the command ended: finish on `end` plus the marker (or on the
// wrapper's death), not on end of stream. Without an `end` line (exec, SIGKILL, a replaced EXIT trap) use the exit code of the
// process and keep the old state.

import type { CommandKind, SessionState } from "./port.ts";
import { WORKSPACE } from "./port.ts";

/** The state of a session before its first command. */
export function initialState(environment: Readonly<Record<string, string>>): SessionState {
  return { cwd: WORKSPACE, environment: { ...baseEnvironment, ...environment }, shell: "" };
}

export const baseEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp/home",
  USER: "student",
  LOGNAME: "student",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
} as const;

/** More than this of state is not kept: the command's outcome then carries the state before it. */
export const MAX_STATE_BYTES = 256 * 1024;

// `compgen -v` before anything is restored lists the shell's own variables; what is there later and not exported is the
// session's. Names that begin with __mm_ are the wrapper's. Everything after `eval` sits in the EXIT trap so that `exit` in a
// command still reports.
const WRAPPER = `
exec {__mm_out}>&1 {__mm_report}>&2 2>&1 </dev/null
__mm_own=$(compgen -v)
__mm_own=" \${__mm_own//$'\\n'/ } _ FUNCNAME REPLY BASH_REMATCH COPROC COPROC_PID OPTARG MAPFILE LINES COLUMNS "
__mm_save() {
  local __mm_name __mm_exported=$(builtin compgen -e)
  __mm_own+=" \${__mm_exported//$'\\n'/ } "
  for __mm_name in $(builtin compgen -v); do
    case "$__mm_own" in *" $__mm_name "*) continue ;; esac
    [[ $__mm_name == __mm_* ]] || builtin declare -p "$__mm_name"
  done
  builtin unset -f __mm_save __mm_end
  builtin declare -f
}
__mm_end() {
  builtin set +eu
  builtin trap - DEBUG ERR RETURN
  IFS=$' \\t\\n'
  builtin printf '%s state %s\\n' "$1" "$({
    builtin printf '%s\\0' "$(builtin pwd -P)" "$(__mm_save)"
    builtin command -p env -0
  } 2>/dev/null | builtin command -p base64 -w 0)" >&"$__mm_report"
  builtin printf '%s end %s\\n' "$1" "$__mm_code" >&"$__mm_report"
  builtin printf '%s' "$1" >&"$__mm_out"
}
`;

/** Short, because `ps` inside a session shows it. */
export const SESSION_SCRIPT = 'eval "$(cat)"';

export interface CommandRequest {
  /** 32 lower-case hex digits, new for each command. */
  readonly nonce: string;
  readonly kind: CommandKind;
  readonly text: string;
  readonly state: SessionState;
  readonly ulimits?: CommandUlimits;
}

/** Set by bash in the wrapper, hard and soft, on top of what the session has. A limit that cannot be set ends the command. */
export interface CommandUlimits {
  readonly cpuSeconds?: number;
  readonly fileBytes?: number;
  readonly openFiles?: number;
  readonly dataBytes?: number;
}

/** What the adapter writes to the wrapper's stdin. */
export function renderRequest(request: CommandRequest): string {
  const { nonce, state } = request;
  const environment = Object.entries(state.environment).filter(([name]) => isVariableName(name));
  const report = `trap '{ __mm_code=$?; builtin set +xv; } 2>/dev/null; __mm_end ${nonce}' EXIT`;
  return [
    WRAPPER,
    `builtin printf '%s start %s\\n' ${nonce} "$$" >&"$__mm_report"`,
    ...renderUlimits(request.ulimits ?? {}),
    ...environment.map(([name, value]) => `export ${name}=${quoteForBash(value)}`),
    `[[ -d $HOME ]] || mkdir -p -- "$HOME" 2>/dev/null`,
    `cd -- ${quoteForBash(state.cwd)} 2>/dev/null || cd ${WORKSPACE}`,
    ...(state.shell === "" ? [] : [`eval ${quoteForBash(state.shell)} 2>/dev/null`]),
    report,
    `eval ${quoteForBash(renderCommand(request.kind, request.text))}`,
    // A command's own EXIT trap runs here, as its shell would end here, and ours is set again.
    "{ __mm_code=$?; __mm_trap=$(trap -p EXIT); set +xv; } 2>/dev/null",
    `[[ $__mm_trap == *__mm_end* ]] || { eval "set -- \${__mm_trap#trap -- }"; eval "$1"; }`,
    report,
    'builtin exit "$__mm_code"',
    "",
  ].join("\n");
}

/** Printed on stdout after the command's own output. */
export function endMarker(nonce: string): string {
  return nonce;
}

export interface CommandReport {
  /** The wrapper's pid in the session's pid namespace; it leads the command's process group. */
  readonly pid?: number;
  readonly exitCode?: number;
  readonly state?: SessionState;
}

/** Reads what the wrapper has reported so far; other text on the stream (of the engine, of a launcher) is skipped. */
export function parseReport(nonce: string, text: string): CommandReport {
  const report: { pid?: number; exitCode?: number; state?: SessionState } = {};
  for (const [, kind, value = ""] of text.matchAll(new RegExp(`${nonce} (start|state|end) ([^\\n]*)\\n`, "g"))) {
    if (kind === "start" && /^\d{1,10}$/.test(value)) report.pid = Number(value);
    if (kind === "end" && /^\d{1,3}$/.test(value)) report.exitCode = Number(value);
    if (kind === "state") {
      const state = parseState(value);
      if (state !== undefined) report.state = state;
    }
  }
  return report;
}

function parseState(base64: string): SessionState | undefined {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length > MAX_STATE_BYTES) return undefined;
  const [cwd = "", shell = "", ...pairs] = bytes.toString("utf8").split("\0");
  if (!cwd.startsWith("/") || pairs.length === 0) return undefined;
  const environment: Record<string, string> = {};
  for (const pair of pairs) {
    const split = pair.indexOf("=");
    const name = pair.slice(0, split);
    if (split > 0 && isVariableName(name) && !unsavedNames.has(name)) environment[name] = pair.slice(split + 1);
  }
  return { cwd, environment, shell };
}

const unsavedNames = new Set(["_", "SHLVL", "PWD"]);

function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith("__mm_");
}

function renderCommand(kind: CommandKind, text: string): string {
  switch (kind) {
    case "shell":
      return text;
    case "python":
      return `python3 -c ${quoteForBash(text)}`;
    case "javascript":
      return `node -e ${quoteForBash(text)}`;
  }
}

function renderUlimits(limits: CommandUlimits): string[] {
  const flags = [
    ["-t", limits.cpuSeconds],
    ["-f", limits.fileBytes === undefined ? undefined : Math.ceil(limits.fileBytes / 1024)],
    ["-n", limits.openFiles],
    ["-d", limits.dataBytes === undefined ? undefined : Math.ceil(limits.dataBytes / 1024)],
  ] as const;
  return flags
    .filter(([, value]) => value !== undefined)
    .map(([flag, value]) => `builtin ulimit ${flag} ${value} || exit 125`);
}

/** A bash word that stands for exactly this text. NUL cannot occur in a bash word and is dropped. */
export function quoteForBash(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}
