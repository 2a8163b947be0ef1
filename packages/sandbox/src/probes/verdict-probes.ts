// Probes for commands that forge their own result: signals to the processes that run and watch the command, reads of their memory, forged
// reports, watchers that are killed or stopped. Other probes check that a foreign command leaves nothing for the author's next command.

import type { Session } from "../port.ts";
import { type Finding, type Probe, probeOutput, shell, shorten } from "./probe.ts";

/** The kernel must have ended the command: its last output is missing, and its code is not 0. */
async function neverSucceeds(session: Session, attacks: readonly string[]): Promise<Finding> {
  for (const attack of attacks) {
    // A successful command runs before the attack: a report of "the last command's code" would be a 0.
    const outcome = await shell(session, `true; ${attack}; exit 3`, { wallMs: 4000 });
    if (outcome.exitCode === 0) return { refused: false, evidence: `${shorten(attack)} ended with 0` };
  }
  const answered = (await shell(session, "echo $((6 * 7))")).output === "42\n";
  return {
    refused: answered,
    evidence: `${attacks.length} ways, none ended with 0, session ${answered ? "answers" : "lost"}`,
  };
}

const child = (text: string) => `sh -c '${text}; sleep 0.2'`;
const everyOther = `for p in /proc/[0-9]*; do p=\${p#/proc/}; [ $p = $$ ] || [ $p = 1 ] || kill`;

export const verdictProbes: readonly Probe[] = [
  {
    name: "end the shell by a signal and pass for a success",
    run: ({ session }) =>
      neverSucceeds(
        session,
        ["TERM", "HUP", "ALRM", "USR1", "QUIT", "PIPE", "KILL"].map((name) => child(`kill -${name} $PPID`)),
      ),
  },
  {
    name: "end all that watches a command and pass for a success",
    run: ({ session }) =>
      neverSucceeds(session, [
        child(`${everyOther} -TERM $p; done 2>/dev/null`),
        child(`${everyOther} -KILL $p; done 2>/dev/null`),
        child("kill -TERM 0"),
        child("kill -KILL -1"),
      ]),
  },
  {
    name: "stop all that watches a command",
    run: async ({ session }) => {
      const attack = child(`${everyOther} -STOP $p; done 2>/dev/null`);
      const outcome = await shell(session, `true; ${attack}; exit 3`, { wallMs: 600 });
      const after = await shell(session, "echo $?");
      return {
        refused: outcome.timedOut === "wall" && after.output === "124\n",
        evidence: `ended by the ${outcome.timedOut} clock after ${Math.round(outcome.durationMs)} ms, then $? is ${shorten(after.output)}`,
      };
    },
  },
  {
    name: "hold a command after its watcher is gone",
    run: async ({ session }) => {
      const startedAt = performance.now();
      const seen: string[] = [];
      for (const kill of [`${everyOther} -KILL $p; done 2>/dev/null`, "kill -KILL $PPID"]) {
        const drip = `${kill}; while echo drip; do sleep 0.03; done`;
        const outcome = await shell(session, `sh -c '${drip}'; exit 3`, { wallMs: 3000 });
        if (outcome.exitCode === 0) seen.push("ended with 0");
        const { output } = await shell(session, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '");
        if (output.includes("echo drip")) seen.push("the process lives on");
      }
      const durationMs = Math.round(performance.now() - startedAt);
      return {
        refused: seen.length === 0,
        evidence: `ended after ${durationMs} ms, ${seen.length === 0 ? "nothing is left" : seen.join(", ")}`,
      };
    },
  },
  {
    name: "look into the shell that runs it",
    run: ({ session }) =>
      probeOutput(
        session,
        `sh -c 'for p in $PPID /proc/[0-9]*; do p=\${p#/proc/}; [ $p = $$ ] && continue
  for f in mem environ maps auxv; do head -c 1 /proc/$p/$f >/dev/null 2>&1 && echo "read $p/$f"; done
  { : 7<>/proc/$p/mem; } 2>/dev/null && echo "opened $p/mem"
  ls /proc/$p/fd/0 >/dev/null 2>&1 && echo "listed $p/fd"
done; true'`,
        (output) => !/^(read|opened|listed) /m.test(output),
      ),
  },
  {
    name: "forge a report",
    run: async ({ session }) => {
      const forge = `bash -c 'for fd in {3..255} /proc/[0-9]*/fd/*; do
  for word in end exit; do echo "$1 $word 0" >&$fd || echo "$1 $word 0" >$fd; done
done; echo "$1 end 0"; printf %s "$1"' forge`;
      const secret =
        "nonce=$(trap -p | grep -o '[0-9a-f]\\{32\\}'; set | grep -o '[0-9a-f]\\{32\\}'; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' ' | grep -o '[0-9a-f]\\{32\\}')";
      const outcome = await shell(
        session,
        `{ ${secret}; ${forge} "\${nonce:-none}"; } 2>/dev/null; echo "[$nonce]"; exit 3`,
      );
      return {
        refused: outcome.exitCode === 3 && outcome.output.endsWith("[]\n"),
        evidence: `ended with ${outcome.exitCode}, ${outcome.output.endsWith("[]\n") ? "no nonce was found" : "a nonce was found"}`,
      };
    },
  },
  {
    name: "find a descriptor it was not given",
    run: ({ session }) =>
      probeOutput(session, "bash -c 'for fd in /proc/$$/fd/*; do readlink $fd; done' | sort -u", (output) =>
        output
          .trim()
          .split("\n")
          // Allowed are its stdin, its output, and the descriptor that bash opened to expand the pattern.
          .every((target) => /^(\/dev\/null|pipe:\[\d+\]|socket:\[\d+\]|\/proc\/\d+\/fd|)$/.test(target)),
      ),
  },
  {
    name: "keep a capability in the bounding set",
    run: ({ session }) =>
      probeOutput(session, "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status", (output) =>
        /^(Cap\w{3}:\s+0{16}\n){5}$/.test(output),
      ),
  },
  {
    name: "leave fakes for the author's next command",
    run: async ({ session }) => {
      await session.run({
        kind: "shell",
        trust: "foreign",
        text: `mkdir -p fake; for n in diff cat cmp ls true test python3 node make; do printf '#!/bin/sh\\necho fake\\n' >fake/$n; chmod 755 fake/$n; done
for n in diff cat cmp eval test builtin command printf exit; do eval "$n() { echo fake; }"; export -f $n; done 2>/dev/null
alias cat='echo fake'; shopt -s expand_aliases; trap 'echo fake' EXIT DEBUG ERR
echo 'echo fake; exit 0' >fake/env; unset -f cat
export PATH=$PWD/fake:$PATH BASH_ENV=$PWD/fake/env ENV=$PWD/fake/env IFS=f PS4=fake PROMPT_COMMAND='echo fake' GLOBIGNORE='*' CDPATH=/tmp
export NODE_OPTIONS=--bad PYTHONSTARTUP=fake PYTHONPATH=fake PERL5OPT=-d PERL5LIB=fake RUBYOPT=x GIT_DIR=fake TMPDIR=/fake LC_ALL=fake
set -o noglob -o posix -f; hash -p "$PWD/fake/diff" diff 2>/dev/null; export LD_PRELOAD=fake LD_LIBRARY_PATH=fake`,
      });
      const outcome = await shell(
        session,
        `echo a >one; echo b >two; diff one two >/dev/null; echo "code $?"; bash -c 'diff one one && cat one; echo "$IFS$PATH"'; type -t diff cat; rm -rf fake one two`,
      );
      const right = outcome.output === `code 1\na\n \t\n${session.state.environment.PATH}\nfile\nfile\n`;
      return {
        refused: right && outcome.exitCode === 0,
        evidence: right ? "the author's own programs ran" : shorten(outcome.output),
      };
    },
  },
  {
    name: "leave a daemon for the author's next act",
    run: async ({ session }) => {
      const spy =
        "while :; do for f in hidden; do [ -e $f ] && { cp $f seen; echo forged >$f; }; done; sleep 0.01; done";
      const planted = await session.run({
        kind: "shell",
        trust: "foreign",
        text: `cd /workspace; (setsid sh -c '${spy}' >/dev/null 2>&1 &); nohup sh -c '${spy}' >/dev/null 2>&1 & disown; sleep 0.1; pgrep -f 'cp .f seen' >/dev/null || cat /proc/[0-9]*/cmdline | tr '\\0' ' '`,
      });
      // The author's next action writes a file, then runs a command.
      await session.writeFile("hidden", Buffer.from("secret\n"));
      await new Promise((resolve) => setTimeout(resolve, 150));
      const outcome = await shell(
        session,
        "cat /workspace/hidden; ls /workspace; rm -f /workspace/hidden /workspace/seen",
      );
      const held = outcome.output.startsWith("secret\n") && !outcome.output.includes("seen");
      return {
        refused: held && planted.exitCode === 0,
        evidence: held ? "the daemons were gone" : shorten(outcome.output),
      };
    },
  },
];
