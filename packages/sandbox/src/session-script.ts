// The bash script that runs inside a session around each command, the same for every adapter. It needs bash 4.4, `env` and `base64`.
// Invariants:
// 1. Each command gets a fresh bash: `exit`, `exec`, `set -e` or a syntax error end that bash, never the session.
// 2. Its reports use the descriptor from which it reads its own script, a socket. While stdin is /dev/null, bash moves that descriptor to
//    another number and closes it on exec: no program that the command starts has it.
// 3. The host never evaluates the reported state. It only passes it back into a session, quoted by `quoteForBash`.
// 4. A report is a claim, not the truth: the exit status is that of the process (exit-guard-script.ts, none-sandbox.ts).
// 5. The command's text is data: bash reads a counted number of bytes into a variable and evaluates it. Bash parses our whole script before
//    it evaluates the command, because a syntax error inside `eval` leaves the parser in the middle of the script.
// 6. While the command runs, none of our functions and variables is defined, and our script writes nothing to its output. The variable with
//    its text is COMP_LINE, which bash otherwise uses for completion only.
// 7. A command that bash cannot parse ends with the code 2.
//
// The worker starts it as bash --noprofile --norc -s with an empty environment, as a session leader, with a socket on stdin, and the output
// on stdout and stderr. The worker sends the script down the socket; the shell sends `start`, `state <base64>`, `end <code>` up. After
// `start` the shell waits for a line, so the worker knows that a command starts before it does. After that line the socket is closed in
// this direction: a shell that executes nothing more (`set -n`) finds the end of its script there and ends.
// Without an `end` line (exec, a kill, a shell that executes nothing more) the old state stays.

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

/** A larger state is not stored: the command's outcome then contains the state before it. */
const MAX_STATE_BYTES = 256 * 1024;

/** The first number bash uses for a descriptor of its own; no descriptor above stderr is open then. */
const REPORT_FD = 10;

/** Variables that bash sets itself (4.4 to 5.3). They do not belong to the session. */
const shellVariables =
  "_ BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_LINENO BASH_LOADABLES_PATH " +
  "BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO BASH_VERSION COLUMNS COMP_LINE COMP_WORDBREAKS COPROC " +
  "COPROC_PID DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GLOBSORT GROUPS HISTCMD HOSTNAME HOSTTYPE IFS LINENO LINES " +
  "MACHTYPE MAPFILE OPTARG OPTERR OPTIND OSTYPE PATH PIPESTATUS PPID PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM " +
  "TERM UID";

/**
 * Runs when the shell ends, also by `exit` in the command. The command may have replaced builtins by functions of the same name, so their
 * output is dropped. If the command closed the descriptor of the reports, bash keeps its saved output there: then nothing is reported. Each
 * statement is one line.
 */
const REPORT = [
  "{ __mm_code=$?",
  "builtin set +xvneu",
  "builtin trap - DEBUG ERR RETURN",
  "IFS=$' \\t\\n'",
  // Inside eval some syntax errors have the code 1. Others have bash's own 257, which would be 1 outside.
  "[[ $__mm_code != 257 ]] || __mm_code=2",
  '[[ $__mm_code != 1 ]] || { builtin command -p bash --noprofile --norc -O extglob -nc "$COMP_LINE"; [[ $? != [12] ]] || __mm_code=2; }',
  [
    "__mm_save() { local __mm_name __mm_own=$(builtin compgen -e)",
    `__mm_own=" \${__mm_own//$'\\n'/ } ${shellVariables} "`,
    "for __mm_name in $(builtin compgen -v)",
    'do case "$__mm_own" in *" $__mm_name "*) continue ;; esac',
    '[[ $__mm_name == __mm_* ]] || builtin declare -p "$__mm_name"',
    "done",
    "builtin unset -f __mm_save",
    "builtin declare -f",
    "}",
  ].join("; "),
  `[[ ! -S /dev/fd/${REPORT_FD} || /dev/fd/${REPORT_FD} -ef /dev/fd/${REPORT_FD + 1} ]] || builtin printf 'state %s\\nend %s\\n' "$({ ${[
    `builtin printf '%s\\0' "$(builtin pwd -P)" "$(__mm_save)"`,
    "builtin command -p env -0",
  ].join("; ")}; } 2>/dev/null | builtin command -p base64 -w 0)" "$__mm_code" >&${REPORT_FD}`,
  "[[ $__mm_code != 2 ]] || builtin exit 2",
  "} >/dev/null 2>&1",
].join("; ");
const SET_REPORT = `builtin trap ${quoteForBash(REPORT)} EXIT`;

/**
 * Runs after the command. Its own EXIT trap runs here, as if its shell ended here; before that, our trap is set again. Each statement is
 * one line.
 */
const AFTER = [
  "{ __mm_code=$?; builtin set +xvn; builtin trap - DEBUG ERR RETURN; __mm_trap=$(builtin trap -p EXIT); __mm_theirs=",
  `[[ $__mm_trap == *__mm_save* ]] || { ${SET_REPORT}; [[ $__mm_trap != 'trap -- '* ]] || __mm_theirs=1; }`,
  `[[ -z $__mm_theirs ]] || builtin eval "builtin set -- \${__mm_trap#trap -- }"; } >/dev/null 2>&1`,
  '[[ -z $__mm_theirs ]] || builtin eval "$1"',
  '{ builtin exit "$__mm_code"; exit "$__mm_code"; } >/dev/null 2>&1',
].join("; ");

export interface CommandRequest {
  readonly kind: CommandKind;
  readonly text: string;
  readonly state: SessionState;
  readonly ulimits?: CommandUlimits;
}

/** Limits that bash sets in the wrapper, hard and soft, in addition to the session's limits. If a limit cannot be set, the command ends. */
export interface CommandUlimits {
  readonly cpuSeconds?: number;
  readonly fileBytes?: number;
  readonly openFiles?: number;
  readonly dataBytes?: number;
}

/**
 * The bytes that the worker sends before the command starts. The first line makes a waiting `bash -s` read the rest by its length in bytes,
 * and evaluate it without a fork: the text that prepares the shell, then the command. The command is evaluated in the first line of all
 * that bash reads, so its messages have the command's own line numbers.
 */
export function renderScript(request: CommandRequest): Buffer {
  const before = Buffer.from(renderBefore(request));
  const command = Buffer.from(renderCommand(request.kind, request.text).replaceAll("\0", ""));
  // The command finds the status of the previous command in $?, and a plain word in $_.
  const line =
    `IFS= read -r -N ${before.length} __mm_script && IFS= read -r -N ${command.length} COMP_LINE && ` +
    `{ builtin eval "$__mm_script"; __mm_last bash; builtin eval "$COMP_LINE"; ${AFTER}; } </dev/null\n`;
  return Buffer.concat([Buffer.from(line), before, command]);
}

/** One compound command: bash parses all of it before it evaluates the state of the session. */
function renderBefore({ state, ulimits }: CommandRequest): string {
  const environment = Object.entries(state.environment).filter(([name]) => isVariableName(name));
  return [
    "{",
    "builtin unset __mm_script",
    ...renderUlimits(ulimits ?? {}),
    `builtin printf 'start\\n' >&${REPORT_FD}; builtin read -r _ <&${REPORT_FD} || builtin exit 125`,
    ...environment.map(([name, value]) => `export ${name}=${quoteForBash(value)}`),
    `[[ -d $HOME ]] || mkdir -p -- "$HOME"`,
    `cd -- ${quoteForBash(state.cwd)} || cd ${WORKSPACE}`,
    ...(state.shell === "" ? [] : [`builtin eval ${quoteForBash(state.shell)}`]),
    SET_REPORT,
    `__mm_last() { builtin unset -f __mm_last; return ${state.status ?? 0}; }`,
    "} 2>/dev/null",
  ].join("\n");
}

/** 32 lower-case hex digits, new for each command. They start every report and end the output. No process in a session can read them. */
export function endMarker(nonce: string): string {
  return nonce;
}

export interface CommandReport {
  /** The shell's pid in the session's pid namespace; it leads the command's process group. Present once the command has started. */
  readonly pid?: number;
  /** The exit code that the shell itself reported. */
  readonly claimed?: number;
  /** The exit status that the kernel gave to the shell's parent, in shell form: 128 + n for signal n. */
  readonly waited?: number;
  readonly state?: SessionState;
}

/** Reads the reports so far; other text on the stream (of the engine, of a launcher) is skipped. */
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

/** Not saved: each bash sets these itself, or they cannot be set. */
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
