// The bash text that runs inside a session around each command, the same for every adapter. Needs bash 4.4, `env` and `base64`.
// Invariants:
// 1. A fresh bash per command: `exit`, `exec`, `set -e` or a syntax error end that bash, never the session.
// 2. Its reports travel on the descriptor it reads its own text from, a socket. Bash moves that descriptor out of the way while
//    stdin is /dev/null and closes it on exec: no program the command starts has it.
// 3. The host never evaluates state that comes back; it goes back into a session, quoted by `quoteForBash`.
// 4. A report is a claim, not the truth: the exit status is the one of the process (exit-guard-script.ts, none-sandbox.ts).
//
// How it is started: bash --noprofile --norc -s with an empty environment, as a session leader, a socket on stdin, the output on
// stdout and stderr. Down the socket goes feedLine(script) and the script; up come `start`, `state <base64>`, `end <code>`. After
// `start` it waits for a line: the worker knows that a command began before it does.
// Without an `end` line (exec, a kill, a replaced EXIT trap) the old state stays.

import type { CommandKind, SessionState } from "./port.ts";
import { WORKSPACE } from "./port.ts";

/** The state of a session before its first command. */
export function initialState(environment: Readonly<Record<string, string>>): SessionState {
  return { cwd: WORKSPACE, environment: { ...baseEnvironment, ...environment }, shell: "" };
}

export const baseEnvironment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: WORKSPACE,
  USER: "student",
  LOGNAME: "student",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
} as const;

/** More than this of state is not kept: the command's outcome then carries the state before it. */
const MAX_STATE_BYTES = 256 * 1024;

/** The first number bash takes for a descriptor of its own; nothing above stderr is open then. */
const REPORT_FD = 10;

// `compgen -v` before anything is restored lists the shell's own variables; what is there later and not exported is the
// session's. Names that begin with __mm_ are the wrapper's. Everything after `eval` sits in the EXIT trap so that `exit` in a
// command still reports.
const WRAPPER = `
builtin unset __mm_script
__mm_own=$(compgen -v)
__mm_own=" \${__mm_own//$'\\n'/ } _ FUNCNAME REPLY BASH_REMATCH COPROC COPROC_PID OPTARG MAPFILE LINES COLUMNS "
__mm_last() { return "$1"; }
__mm_save() {
  local __mm_name __mm_exported=$(builtin compgen -e)
  __mm_own+=" \${__mm_exported//$'\\n'/ } "
  for __mm_name in $(builtin compgen -v); do
    case "$__mm_own" in *" $__mm_name "*) continue ;; esac
    [[ $__mm_name == __mm_* ]] || builtin declare -p "$__mm_name"
  done
  builtin unset -f __mm_last __mm_save __mm_end
  builtin declare -f
}
__mm_end() {
  builtin set +eu
  builtin trap - DEBUG ERR RETURN
  IFS=$' \\t\\n'
  builtin printf 'state %s\\nend %s\\n' "$({
    builtin printf '%s\\0' "$(builtin pwd -P)" "$(__mm_save)"
    builtin command -p env -0
  } 2>/dev/null | builtin command -p base64 -w 0)" "$__mm_code" >&${REPORT_FD}
}
`;

/** What makes a waiting `bash -s` read a script of so many bytes and run it, whole, without a fork. */
export function feedLine(bytes: number): string {
  return `IFS= read -r -N ${bytes} __mm_script && { eval "$__mm_script"; } </dev/null\n`;
}

export interface CommandRequest {
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

/** The script that runs one command. */
export function renderScript(request: CommandRequest): string {
  const { state } = request;
  const environment = Object.entries(state.environment).filter(([name]) => isVariableName(name));
  const report = "trap '{ __mm_code=$?; builtin set +xv; } 2>/dev/null; __mm_end' EXIT";
  return [
    WRAPPER,
    ...renderUlimits(request.ulimits ?? {}),
    `builtin printf 'start\\n' >&${REPORT_FD}; builtin read -r __mm_go <&${REPORT_FD} || builtin exit 125`,
    ...environment.map(([name, value]) => `export ${name}=${quoteForBash(value)}`),
    `[[ -d $HOME ]] || mkdir -p -- "$HOME" 2>/dev/null`,
    `cd -- ${quoteForBash(state.cwd)} 2>/dev/null || cd ${WORKSPACE}`,
    ...(state.shell === "" ? [] : [`eval ${quoteForBash(state.shell)} 2>/dev/null`]),
    report,
    `__mm_last ${state.status ?? 0}`,
    `eval ${quoteForBash(renderCommand(request.kind, request.text))}`,
    // A command's own EXIT trap runs here, as its shell would end here, and ours is set again.
    "{ __mm_code=$?; __mm_trap=$(trap -p EXIT); set +xv; } 2>/dev/null",
    `[[ $__mm_trap == *__mm_end* ]] || { eval "set -- \${__mm_trap#trap -- }"; eval "$1"; }`,
    report,
    'builtin exit "$__mm_code"',
    "",
  ].join("\n");
}

/** 32 lower-case hex digits, new for each command: leads every report, and ends the output. Nothing in a session can read it. */
export function endMarker(nonce: string): string {
  return nonce;
}

export interface CommandReport {
  /** The shell's pid in the session's pid namespace; it leads the command's process group. Present once the command began. */
  readonly pid?: number;
  /** What the shell itself said at its end. */
  readonly claimed?: number;
  /** What the shell's parent was told by the kernel, as a shell says it: 128 + n for signal n. */
  readonly waited?: number;
  readonly state?: SessionState;
}

/** Reads what has been reported so far; other text on the stream (of the engine, of a launcher) is skipped. */
export function parseReport(nonce: string, text: string): CommandReport {
  const report: { pid?: number; claimed?: number; waited?: number; state?: SessionState } = {};
  for (const [, kind, value = ""] of text.matchAll(new RegExp(`${nonce} (start|state|end|exit) ([^\\n]*)\\n`, "g"))) {
    if (kind === "start" && /^\d{1,10}$/.test(value)) report.pid = Number(value);
    if (kind === "end" && /^\d{1,3}$/.test(value)) report.claimed = Number(value);
    if (kind === "exit" && /^\d{1,3}$/.test(value)) report.waited = Number(value);
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

/** Set by each bash for itself, or not settable. */
const unsavedNames = new Set(["_", "SHLVL", "PWD", "SHELLOPTS", "BASHOPTS"]);

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

export function renderUlimits(limits: CommandUlimits): string[] {
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
