// Probes for attacks of a student's program on the judge that runs it. The judge puts its token everywhere a program could search (files,
// scratch folder, environment, arguments, descriptors, sockets, shared memory) and starts a guest that searches for it. A probe passes only
// on evidence: the guest must have tried, and the judge must have found the token itself.

import { readdirSync, readFileSync } from "node:fs";
import type { JudgeSession } from "../judge/judge-session.ts";
import { GUEST_SOCKET } from "../judge/relay-script.ts";
import type { SessionFile } from "../port.ts";
import { type Finding, type ProbeResult, shorten } from "./probe.ts";

export interface JudgeLab {
  /** Opens a judge for a submission that is given as files, with the teacher's files. */
  openJudge(
    submission: readonly SessionFile[],
    files: readonly SessionFile[],
  ): Promise<Pick<JudgeSession, "run" | "end">>;
  readonly token: string;
  readonly diskBytes: number;
}

export interface JudgeProbes {
  readonly control: { readonly name: string; readonly held: boolean; readonly evidence: string };
  readonly probes: readonly ProbeResult[];
}

const SHARED_MEMORY_KEY = 0x4a554447;
const PORT = 18_734;
const PTRACE_SEIZE = 0x4206;

const file = (path: string, text: string, mode = 0o644): SessionFile => ({ path, mode, bytes: Buffer.from(text) });

/** Sends a greeting on an abstract socket and on the loopback, and holds a shared memory segment, until it is killed. */
const SERVER = `my $token = shift; shmget(${SHARED_MEMORY_KEY}, 4096, 01666);
for (1, 2) { next if fork; my $s;
  if ($_ == 1) { socket($s, 1, 1, 0); bind($s, pack "S a*", 1, "\\0markmill-judge") or die }
  else { socket($s, 2, 1, 0); bind($s, pack "S n N x8", 2, ${PORT}, 0x7f000001) or die }
  listen($s, 8); while (accept my $c, $s) { syswrite $c, "$token\\n"; close $c } }
sleep 600`;

/** The last address is the relay's, which sends no greeting. */
const CONNECT = `my $s; alarm 5; for ([1, pack "S a*", 1, "\\0markmill-judge"], [2, pack "S n N x8", 2, ${PORT}, 0x7f000001], [1, pack "S a108", 1, "${GUEST_SOCKET}"]) {
  socket($s, $_->[0], 1, 0) && connect($s, $_->[1]) or do { print "refused: $!\\n"; next };
  last if $_->[1] =~ /guests/ && print "connected\\n"; sysread $s, my $said, 100; print "connected $said\\n" }`;

/** Each section is one probe: its name, the attack, and a check whether the output of the attack shows a refusal. */
const sections: readonly {
  readonly name: string;
  readonly attack: string;
  readonly refused: (output: string) => boolean;
}[] = [
  {
    name: "a guest reads the teacher's files",
    attack: `cat /judge/* /judge/secret /submission/../judge/secret /proc/[0-9]*/root/judge/secret /proc/[0-9]*/cwd/../judge/secret 2>&1
find / -xdev -name 'secret*' 2>/dev/null; echo tried`,
    refused: (output) => output.includes("tried"),
  },
  {
    name: "a guest reads the judge's scratch",
    attack: "cat /workspace/secret /tmp/secret /dev/shm/secret /run/judge/* 2>&1; ls -A /tmp /dev/shm; echo tried",
    refused: (output) => output.includes("tried") && !output.includes("secret\n/"),
  },
  {
    name: "a guest sees the judge's processes",
    attack: "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '; echo tried",
    refused: (output) => output.includes("attack.sh"),
  },
  {
    name: "a guest opens the judge's memory",
    attack: `for p in 1 $PPID; do ((p > 0)) && { exec 7<>"/proc/$p/mem"; } 2>/dev/null && echo "opened $p"; done; echo tried`,
    refused: (output) => output.includes("tried") && !/opened [1-9]/.test(output),
  },
  {
    name: "a guest finds open descriptors",
    attack: `for fd in /proc/$$/fd/*; do case "\${fd##*/}" in 0|1|2|255) ;; *) echo "open \${fd##*/}: $(readlink "$fd")" ;; esac; done
for fd in 3 16 100 1023; do { cat <&$fd || cat "/dev/fd/$fd/secret"; } 2>/dev/null; done; echo tried`,
    refused: (output) => output.includes("tried") && !output.includes("open "),
  },
  {
    name: "a guest traces the judge",
    attack: `case $(uname -m) in aarch64|arm64) n=117 v=270 ;; *) n=101 v=310 ;; esac
perl -e 'print syscall($ARGV[0] + 0, ${PTRACE_SEIZE}, 1, 0, 0) == -1 ? "refused\\n" : "traced\\n";
my $buffer = "\\0" x 8; my $iov = pack "P Q", $buffer, 8; my $far = pack "Q Q", 4096, 8;
print syscall($ARGV[1] + 0, 1, $iov, 1, $far, 1, 0) == -1 ? "refused\\n" : "read\\n"' $n $v 2>&1`,
    refused: (output) => output.trim() === "refused\nrefused",
  },
  {
    name: "a guest reaches the judge's sockets",
    attack: `perl -e '${CONNECT}' 2>&1`,
    refused: (output) => output.match(/^refused/gm)?.length === 3,
  },
  {
    name: "a guest reaches the network",
    attack: "{ exec 7<>/dev/tcp/192.0.2.1/80; } 2>&1 && echo connected",
    refused: (output) => /unreachable/i.test(output),
  },
  {
    name: "a guest attaches the judge's shared memory",
    attack: `perl -e 'print defined shmget(${SHARED_MEMORY_KEY}, 0, 0) ? "attached\\n" : "refused $!\\n"' 2>&1`,
    refused: (output) => output.startsWith("refused"),
  },
];

/** Signals every process it can name, tampers with everything it sees, leaves a daemon, and reports that it passed. */
const havoc = (marker: number) => `trap '' TERM HUP INT ALRM USR1
kill -TERM $(seq 2 400) 2>/dev/null; kill -9 1 2>/dev/null; kill -TERM -- -1 2>/dev/null; ((PPID == 0)) || kill -9 $PPID 2>/dev/null
echo forged >data.txt; rm -rf ./* /submission/* /judge/* 2>/dev/null; echo forged >/submission/data.txt 2>/dev/null
for d in /workspace /tmp /dev/shm /judge /; do echo passed 0 >"$d/verdict" 2>/dev/null; done
(setsid nohup sleep ${marker} >/dev/null 2>&1 &)
echo verdict: passed; exit 7`;

export async function runJudgeProbes(lab: JudgeLab): Promise<JudgeProbes> {
  const marker = 400_000 + Math.floor(Math.random() * 500_000);
  // An image may lack the locale, and perl would then warn between the answers.
  const attack = [
    "export LC_ALL=C",
    ...sections.map(({ attack: text }, index) => `echo "== ${index}"\n(${text}\n)`),
  ].join("\n");
  const judge = await lab.openJudge(
    [file("data.txt", "as submitted\n"), file("attack.sh", attack), file("havoc.sh", havoc(marker))],
    [file("secret", `${lab.token}\n`), file("server.pl", SERVER), file("connect.pl", CONNECT)],
  );
  try {
    const looked = await judge.run({ kind: "shell", text: lookingGuest(lab.token) });
    const control = {
      name: "the judge finds what it hid from its guest",
      held: looked.output.includes(`judge reads ${lab.token}`) && looked.output.split(lab.token).length >= 4,
      evidence: shorten(looked.output.split("== 0")[0] ?? ""),
    };
    const guest = looked.output.slice(looked.output.indexOf("== 0"));
    const probes = sections.map(({ name, refused }, index): ProbeResult => {
      const output = guest.split(`== ${index}\n`)[1]?.split(/^== \d+$/m)[0];
      if (output === undefined) return { name, refused: false, evidence: `not tried: ${shorten(looked.output)}` };
      return { name, refused: refused(output) && !output.includes(lab.token), evidence: shorten(output) };
    });
    const { output } = await judge.run({ kind: "shell", text: hostileGuests(lab.diskBytes), limits: {} });
    return { control, probes: [...probes, ...hostileProbes(output, hostRuns(marker))] };
  } finally {
    await judge.end();
  }
}

function lookingGuest(token: string): string {
  return `for d in /workspace /tmp /dev/shm; do cp /judge/secret "$d/secret"; done
export JUDGE_SECRET=${token}
exec 3</judge/secret 16</judge 100</workspace/secret
exec 1023</judge/secret 2>/dev/null
perl /judge/server.pl ${token} & server=$!
for turn in {1..100}; do perl /judge/connect.pl 2>/dev/null | grep -q 'connected.*${token}' && break; sleep 0.05; done
echo "judge reads $(cat /workspace/secret)"
perl /judge/connect.pl
guest bash attack.sh
kill -0 $server && echo "server lives"
kill -9 $server; true`;
}

/** Prints one line `name|result` per attack. */
function hostileGuests(diskBytes: number): string {
  return `say() { printf '%s|%s\\n' "$1" "$2"; }
sleep 300 & witness=$!
guest bash havoc.sh >said 2>/dev/null; say code $?
say said "$(tail -n 1 said)"
say witness "$(kill -0 $witness && echo lives)"; kill -9 $witness
say submission "$(cat /submission/data.txt)"
say again "$(guest cat data.txt)"
say verdict "$(cat /workspace/verdict /judge/verdict /tmp/verdict /dev/shm/verdict 2>/dev/null)"
say disk "$(guest --time 8 bash -c 'head -c ${diskBytes * 3} /dev/zero >fill 2>/dev/null; wc -c <fill')"
say scratch "$(head -c 1000000 /dev/zero >own && wc -c <own)"
SECONDS=0; guest --time 1 bash -c 'trap "" TERM; sleep 60 & sleep 60' 2>/dev/null; say time "$? $((SECONDS < 20))"
guest --memory 64 --time 8 perl -e 'push @held, "a" x 1000000 for 1 .. 900; print "held\\n"' >held 2>/dev/null; say memory "$? $(cat held)"
guest --processes 24 --time 2 bash -c 'bomb() { bomb | bomb & }; bomb; sleep 60' >/dev/null 2>&1; say forks $?
say after "$(bash -c 'echo $((6 * 7))')"
guest --output 1000 yes >flood 2>/dev/null; say flood "$? $(wc -c <flood)"`;
}

/** `runs`: a daemon of the guest still runs. */
function hostileProbes(output: string, runs: boolean): ProbeResult[] {
  const seen = (name: string) => new RegExp(`^${name}\\|(.*)$`, "m").exec(output)?.[1]?.trim();
  const probe = (name: string, finding: Finding): ProbeResult => ({ name, ...finding });
  const expect = (name: string, facts: Readonly<Record<string, string>>) => {
    const wrong = Object.entries(facts).filter(([fact, wanted]) => seen(fact) !== wanted);
    return probe(name, {
      refused: wrong.length === 0,
      evidence:
        wrong.length === 0
          ? Object.entries(facts)
              .map(([fact, value]) => `${fact} ${value === "" ? "nothing" : value}`)
              .join(", ")
          : wrong.map(([fact]) => `${fact} ${seen(fact) ?? `missing: ${shorten(output)}`}`).join(", "),
    });
  };
  const filled = Number(seen("disk") ?? Number.NaN);
  const forks = seen("forks");
  return [
    expect("a guest signals the judge", { witness: "lives", after: "42" }),
    expect("a guest changes its exit code from inside", { code: "7", said: "verdict: passed" }),
    expect("a guest writes the judge's result", { verdict: "" }),
    expect("a guest changes the submission the judge sees", { submission: "as submitted", again: "as submitted" }),
    probe("a guest leaves a daemon behind", {
      refused: seen("code") === "7" && !runs,
      evidence: runs ? "the daemon outlived its guest" : "the daemon ended with its guest",
    }),
    probe("a guest fills the judge's disk", {
      refused: filled > 0 && seen("scratch") === "1000000",
      evidence: `${filled} bytes written by the guest, ${seen("scratch")} by the judge after it`,
    }),
    expect("a guest outlives its time", { time: "124 1" }),
    probe("a guest takes more memory", {
      // The process was killed, or the kernel refused more memory.
      refused: /^(137|134|1|12)$/.test(seen("memory") ?? ""),
      evidence: `exit code ${seen("memory")}`,
    }),
    probe("a guest forks without end", {
      refused: (forks === "124" || forks === "137" || forks === "0") && seen("after") === "42",
      evidence: `exit code ${forks}, the judge ${seen("after") === "42" ? "answers" : "does not answer"}`,
    }),
    expect("a guest floods the judge", { flood: "137 1000" }),
  ];
}

export const judgeProbeNames: readonly string[] = [...sections, ...hostileProbes("", false)].map(({ name }) => name);

function hostRuns(marker: number): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1") === `sleep\0${marker}\0`;
      } catch {
        return false;
      }
    });
}
