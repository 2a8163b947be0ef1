// Probes that use more than the limits allow: processes, memory, disk, output.

import { KILLED } from "../believe-exit-code.ts";
import type { CommandOutcome, Session } from "../port.ts";
import { SandboxError, type SandboxErrorCode } from "../sandbox-error.ts";
import { quoteForBash } from "../session-script.ts";
import { type Finding, type Lab, type Probe, probeOutput, shell, shorten } from "./probe.ts";

export const resourceProbes: readonly Probe[] = [
  {
    name: "fork bomb",
    run: async ({ session, limits }) => {
      // After the bomb has started, the counting shell forks no process: it could not.
      const { output } = await shell(
        session,
        `exec 9<> <(:)
(for ((i = 0; i < ${limits.pids * 3}; i++)); do sleep 20.5 & done) 2>/dev/null &
read -t 1 -u 9
for turn in {1..20}; do
  read -t 0.5 -u 9
  n=0; for p in /proc/[0-9]*; do n=$((n + 1)); done
  ((n < ${limits.pids / 2})) || break
done
echo "alive $n"
kill -9 $!
for p in /proc/[0-9]*; do
  { IFS= read -r -d '' a; IFS= read -r -d '' b; } <"$p/cmdline"
  [[ $a == sleep && $b == 20.5 ]] && kill -9 "\${p#/proc/}"
done 2>/dev/null
true`,
        { wallMs: 25_000 },
      );
      const alive = Number(/alive (\d+)/.exec(output)?.[1] ?? 0);
      const answered = await answers(session);
      return {
        refused: alive >= limits.pids / 2 && alive <= limits.pids + 8 && answered,
        evidence: `${alive} processes at once of ${limits.pids} allowed, session ${answered ? "answers" : "does not answer"}`,
      };
    },
  },
  {
    name: "memory bomb",
    run: async ({ session, limits }) => {
      const size = limits.memoryBytes * 3;
      const outcome = await shell(session, `head -c ${size} /dev/zero | tail -c ${size} | wc -c`, { wallMs: 20_000 });
      const answered = await answers(session);
      return {
        refused: !outcome.output.includes(String(size)) && answered,
        evidence: `${outcome.outOfMemory ? "out of memory" : shorten(outcome.output)}, session ${answered ? "answers" : "does not answer"}`,
      };
    },
  },
  {
    name: "hold memory that no process shows",
    run: (lab) => hoard(lab, "hoard-shared", HOARD_SHARED),
  },
  {
    name: "hold memory in page tables",
    run: (lab) => hoard(lab, "hoard-tables", HOARD_TABLES),
  },
  {
    name: "burn processor time in children nobody waits for",
    run: async ({ session }) => {
      const burn =
        "$SIG{CHLD} = 'IGNORE'; while (1) { my $p = fork; if ($p) { select undef, undef, undef, 0.01; next } 1 for 1 .. 300000; exit }";
      const outcome = await shell(session, `perl -e ${quoteForBash(burn)}`, {
        cpuMs: 700,
        wallMs: 25_000,
      });
      return {
        refused: outcome.timedOut === "cpu",
        evidence: `killed by the ${outcome.timedOut} clock after ${Math.round(outcome.durationMs)} ms`,
      };
    },
  },
  {
    name: "fill the workspace",
    run: ({ session, limits }) => fill(session, "/workspace", limits.diskBytes),
  },
  {
    name: "fill the temporary directories",
    run: async ({ session, limits }) => {
      const findings = [
        await fill(session, "/tmp", limits.diskBytes),
        await fill(session, "/dev/shm", limits.diskBytes),
      ];
      return {
        refused: findings.every(({ refused }) => refused),
        evidence: findings.map(({ evidence }) => evidence).join("; "),
      };
    },
  },
  {
    name: "output flood",
    run: async ({ session, limits }) => {
      const outcome = await shell(session, "yes flood | head -c 40000000", { wallMs: 20_000 });
      return {
        refused:
          outcome.truncated && outcome.outputBytes >= 1_000_000 && outcome.output.length <= limits.outputBytes + 200,
        evidence: `${outcome.outputBytes} bytes written, ${outcome.output.length} shown`,
      };
    },
  },
  {
    name: "endless output without a newline",
    run: async ({ session, limits }) => {
      const outcome = await shell(session, "tr '\\0' x </dev/zero", { wallMs: 1000 });
      const after = await shell(session, "echo clean");
      return {
        refused:
          outcome.timedOut !== false && outcome.output.length <= limits.outputBytes + 200 && after.output === "clean\n",
        evidence: `killed by the ${outcome.timedOut} clock, ${outcome.output.length} characters shown`,
      };
    },
  },
];

/** Calls mmap and madvise by number: x64, else arm64. Prints how many bytes it has got, and `held` when it reaches its argument. */
const HOARD = `$| = 1;
my $x64 = syscall(39) == $$;
sub call { my ($x, $arm, @rest) = @_; return syscall($x64 ? $x : $arm, map { $_ + 0 } @rest) }`;
/** Shared memory without a file, filled piece by piece and unmapped from the process again. */
const HOARD_SHARED = `${HOARD}
my ($want, $piece) = ($ARGV[0], 16 << 20);
open my $zero, "<", "/dev/zero";
for (my $have = 0; $have < $want; $have += $piece) {
  my $at = call(9, 222, 0, $piece, 3, 0x21, -1, 0);
  die "refused\\n" if $at == -1;
  call(0, 63, fileno $zero, $at, $piece) == $piece or die "refused\\n";
  call(28, 233, $at, $piece, 4);
  print "has ", $have + $piece, "\\n";
}
sleep 1;
print "held\\n";`;
/** One byte read in every 2 MiB costs only a page of page tables. */
const HOARD_TABLES = `${HOARD}
my ($want, $span) = ($ARGV[0], 1 << 30);
for (my $have = 0; $have < $want; $have += 4096 * 512) {
  my $at = call(9, 222, 0, $span, 1, 0x4022, -1, 0);
  die "refused\\n" if $at == -1;
  call(28, 233, $at, $span, 15);
  for (my $step = 0; $step < $span; $step += 2 << 20) { unpack "P1", pack "Q", $at + $step }
  print "has ", $have + 4096 * 512, "\\n";
}
sleep 1;
print "held\\n";`;

/**
 * Runs in a session of its own. Until the kernel has taken the memory back from the process that it killed, it may also kill the guard of
 * the command, or the process that keeps the session alive. That is a refusal too, if the neighbour is not affected.
 */
async function hoard({ open, neighbour, limits }: Lab, name: string, text: string): Promise<Finding> {
  const session = await open(name);
  try {
    const outcome = await shell(session, `LC_ALL=C perl -e ${quoteForBash(text)} ${limits.memoryBytes * 3}`, {
      wallMs: 25_000,
    });
    const answered = await answers(session);
    const stopped = howItWasStopped(outcome, limits.memoryBytes);
    return {
      refused: stopped !== null && answered,
      evidence: `${stopped ?? shorten(outcome.output)}, session ${answered ? "answers" : "does not answer"}`,
    };
  } catch (error) {
    if (!(error instanceof SandboxError) || !lost.has(error.code)) throw error;
    const answered = await answers(neighbour);
    return {
      refused: answered,
      evidence: `its session was ended, the neighbour ${answered ? "answers" : "does not answer"}`,
    };
  }
}

/** null: the program got all the memory it wanted, or nothing shows that a limit stopped it. */
function howItWasStopped(
  { output, outOfMemory, exitCode, timedOut }: CommandOutcome,
  memoryBytes: number,
): string | null {
  if (/^held$/m.test(output)) return null;
  if (outOfMemory) return "out of memory";
  if (/refused|[Mm]emory/.test(output)) return shorten(output);
  const has = Number([...output.matchAll(/^has (\d+)$/gm)].at(-1)?.[1] ?? 0);
  // A limit has some slack. A program that got this far beyond the limit was not stopped by it.
  if (has >= memoryBytes * 2) return null;
  if (exitCode === KILLED) return `killed with ${has} bytes`;
  // A machine that is too slow to try it proves nothing.
  return timedOut !== false && has >= memoryBytes / 2 ? `still without it after its time, with ${has} bytes` : null;
}

const lost: ReadonlySet<string> = new Set<SandboxErrorCode>(["SANDBOX_OUTCOME_UNKNOWN", "SANDBOX_SESSION_LOST"]);

async function answers(session: Session): Promise<boolean> {
  return (await shell(session, "echo $((6 * 7))")).output === "42\n";
}

function fill(session: Session, directory: string, diskBytes: number) {
  const text = `head -c ${diskBytes * 3} /dev/zero 2>/dev/null >${directory}/fill; wc -c <${directory}/fill; rm -f ${directory}/fill`;
  return probeOutput(session, text, (output) => /^\d+$/.test(output.trim()) && Number(output) <= diskBytes);
}
