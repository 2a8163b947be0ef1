// Probes that directly make system calls which sandbox escapes have used. There are two small runners, perl and python3; the sandbox needs
// one of them. The probes fail when it has neither, since then nothing was tried. An error counts as a refusal only when it is the error of
// a refusal: a bad-address error means that the kernel did read the arguments.

import { quoteForBash } from "../session-script.ts";
import { type Lab, type ProbeResult, shell, shorten } from "./probe.ts";

type Argument = number | string | { readonly zeroBytes: number };

interface SystemCall {
  readonly name: string;
  readonly number: { readonly x64: number; readonly arm64: number };
  readonly args: readonly Argument[];
  /** Besides EPERM, EACCES and ENOSYS. */
  readonly alsoRefusals?: readonly number[];
}

const EINVAL = 22;
const EPROTONOSUPPORT = 93;
const ESOCKTNOSUPPORT = 94;
const EAFNOSUPPORT = 97;
const ENOENT = 2;
const refusals = [1, 13, 38];
const noSuchFamily = [EPROTONOSUPPORT, ESOCKTNOSUPPORT, EAFNOSUPPORT];

const SESSION_KEYRING = -3;
const CLONE_NEWUSER = 0x10000000;
const CLONE_NEWNET = 0x40000000;
const PTRACE_SEIZE = 0x4206;
/** The neighbour creates it, see plantSharedMemory. */
const SHARED_MEMORY_KEY = 0x4d4b4d4c;
const socket = { x64: 41, arm64: 198 };
const shmget = { x64: 29, arm64: 194 };

const calls: readonly SystemCall[] = [
  { name: "io_uring", number: { x64: 425, arm64: 425 }, args: [1, { zeroBytes: 128 }] },
  { name: "keyctl", number: { x64: 250, arm64: 219 }, args: [0, SESSION_KEYRING, 1] },
  { name: "add_key", number: { x64: 248, arm64: 217 }, args: ["user", "probe", "x", 1, SESSION_KEYRING] },
  { name: "mount", number: { x64: 165, arm64: 40 }, args: ["none", "/tmp", "tmpfs", 0, 0] },
  { name: "umount", number: { x64: 166, arm64: 39 }, args: ["/proc", 2] },
  { name: "open_tree", number: { x64: 428, arm64: 428 }, args: [-100, "/", 1] },
  { name: "chroot", number: { x64: 161, arm64: 51 }, args: ["/tmp"] },
  { name: "new user namespace", number: { x64: 272, arm64: 97 }, args: [CLONE_NEWUSER] },
  { name: "new network namespace", number: { x64: 272, arm64: 97 }, args: [CLONE_NEWNET] },
  { name: "ptrace of pid 1", number: { x64: 101, arm64: 117 }, args: [PTRACE_SEIZE, 1, 0, 0] },
  { name: "kernel module", number: { x64: 175, arm64: 105 }, args: [{ zeroBytes: 64 }, 64, ""] },
  { name: "kernel module from a file", number: { x64: 313, arm64: 273 }, args: [0, "", 0] },
  { name: "raw socket", number: socket, args: [2, 3, 1], alsoRefusals: noSuchFamily },
  { name: "packet socket", number: socket, args: [17, 3, 768], alsoRefusals: noSuchFamily },
  { name: "kernel crypto socket", number: socket, args: [38, 5, 0], alsoRefusals: noSuchFamily },
  { name: "virtual machine socket", number: socket, args: [40, 1, 0], alsoRefusals: noSuchFamily },
  { name: "bpf", number: { x64: 321, arm64: 280 }, args: [0, { zeroBytes: 128 }, 128] },
  { name: "perf_event_open", number: { x64: 298, arm64: 241 }, args: [{ zeroBytes: 128 }, 0, -1, -1, 0] },
  { name: "userfaultfd", number: { x64: 323, arm64: 282 }, args: [1] },
  { name: "open_by_handle_at", number: { x64: 304, arm64: 265 }, args: [-100, { zeroBytes: 128 }, 0] },
  { name: "set the clock", number: { x64: 227, arm64: 112 }, args: [0, { zeroBytes: 16 }] },
  { name: "become root", number: { x64: 105, arm64: 146 }, args: [0], alsoRefusals: [EINVAL] },
  { name: "read the kernel log", number: { x64: 103, arm64: 116 }, args: [3, { zeroBytes: 64 }, 64] },
  { name: "another session's shared memory", number: shmget, args: [SHARED_MEMORY_KEY, 0, 0], alsoRefusals: [ENOENT] },
];

/** Creates the segment that the last probe searches for. If the sandbox refuses shared memory altogether, this is refused too. */
export function plantSharedMemory(): string {
  return renderCalls([{ name: "plant", number: shmget, args: [SHARED_MEMORY_KEY, 4096, 0o1666] }]);
}

export const syscallProbeNames: readonly string[] = calls.map(({ name }) => name);

export async function runSyscallProbes(lab: Lab): Promise<ProbeResult[]> {
  const { output } = await shell(lab.session, renderCalls(calls));
  return calls.map((call) => {
    const line = new RegExp(`^${call.name}: (ok|errno (\\d+))$`, "m").exec(output);
    if (line === null) return { name: call.name, refused: false, evidence: `not tried: ${shorten(output)}` };
    const errno = Number(line[2] ?? 0);
    return {
      name: call.name,
      refused: [...refusals, ...(call.alsoRefusals ?? [])].includes(errno),
      evidence: line[1] ?? "",
    };
  });
}

/** Whether a call that is always allowed succeeds, so that a broken runner cannot look like a refusal. */
export async function runSyscallControl(lab: Lab): Promise<boolean> {
  const { output } = await shell(
    lab.session,
    renderCalls([{ name: "getppid", number: { x64: 110, arm64: 173 }, args: [] }]),
  );
  return output.includes("getppid: ok");
}

/** Makes each call in its own process: a successful call must not affect the next. Arguments: name, x64, arm64, then the call's. */
function renderCalls(list: readonly SystemCall[]): string {
  const lines = list.map(({ name, number, args }) =>
    ["try", quoteForBash(name), number.x64, number.arm64, ...args.map((arg) => quoteForBash(encodeArgument(arg)))].join(
      " ",
    ),
  );
  return `(
try() {
  local name=$1 number=$2
  case $(uname -m) in aarch64|arm64) number=$3 ;; esac
  shift 3
  if command -v perl >/dev/null; then perl -e ${quoteForBash(PERL)} "$name" "$number" "$@"
  elif command -v python3 >/dev/null; then python3 -c ${quoteForBash(PYTHON)} "$name" "$number" "$@"
  else echo 'neither perl nor python3 in the sandbox'; fi
} 2>&1
${lines.join("\n")}
)`;
}

function encodeArgument(argument: Argument): string {
  if (typeof argument === "number") return `n${argument}`;
  return typeof argument === "string" ? `s${argument}` : `z${argument.zeroBytes}`;
}

const PERL = `my ($name, $number, @list) = @ARGV;
my @args = map { /^n(.*)/ ? $1 + 0 : /^z(.*)/ ? "\\0" x $1 : substr($_, 1) } @list;
my $result = syscall($number + 0, @args);
print "$name: ", $result == -1 ? "errno " . ($! + 0) : "ok", "\\n";`;

const PYTHON = `import ctypes, sys
name, number, *rest = sys.argv[1:]
kinds = {"n": lambda t: ctypes.c_long(int(t)), "s": lambda t: ctypes.c_char_p(t.encode()), "z": lambda t: ctypes.create_string_buffer(int(t))}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
result = libc.syscall(ctypes.c_long(int(number)), *[kinds[a[0]](a[1:]) for a in rest])
print(name + ": " + ("errno %d" % ctypes.get_errno() if result == -1 else "ok"))`;
