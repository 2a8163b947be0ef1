// Probes for other sessions on the same host, and for remains of a session after its end.

import { readdirSync, readFileSync } from "node:fs";
import { type Probe, probeOutput, shell } from "./probe.ts";

/**
 * Runs in the neighbour before the probes. It puts the token into files of every writable folder, into an argument list and into memory.
 */
export const plantNeighbour = (token: string) =>
  `for d in /workspace /tmp /dev/shm; do echo ${token} >"$d/secret"; chmod 644 "$d/secret"; done
bash -c 'sleep 600; : ${token}' & echo planted`;

export const neighbourProbes: readonly Probe[] = [
  {
    name: "see another session's processes",
    run: async ({ session, neighbour, neighbourToken }) => {
      const look = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '";
      const control = await shell(neighbour, look);
      if (!control.output.includes(neighbourToken))
        return { refused: false, evidence: "the neighbour's process is not there" };
      const finding = await probeOutput(session, look, (output) => !output.includes(neighbourToken));
      return {
        ...finding,
        evidence: finding.refused ? "its process list is its own" : "the neighbour's process was seen",
      };
    },
  },
  {
    name: "see another session's files",
    run: async ({ session, neighbour, neighbourToken }) => {
      const look = "cat /workspace/secret /tmp/secret /dev/shm/secret /proc/[0-9]*/root/workspace/secret 2>&1";
      const control = await shell(neighbour, look);
      if (!control.output.includes(neighbourToken))
        return { refused: false, evidence: "the neighbour's file is not there" };
      return await probeOutput(session, look, (output) => !output.includes(neighbourToken));
    },
  },
  {
    name: "signal another session's processes",
    run: async ({ session, neighbour, neighbourToken }) => {
      // Every pid up to the kernel's default maximum. The session's own processes may die of it.
      await shell(session, "trap '' TERM; kill -TERM $(seq 2 400) 2>/dev/null; kill -9 1 2>/dev/null; true");
      const { output } = await shell(neighbour, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '");
      const lives = output.includes(neighbourToken);
      return { refused: lives, evidence: lives ? "the neighbour's process lives" : "the neighbour's process is gone" };
    },
  },
  {
    name: "leave a daemon behind",
    run: async ({ open, list }) => {
      const marker = String(400_000 + Math.floor(Math.random() * 500_000));
      const session = await open("daemon");
      const before = await shell(
        session,
        `(setsid nohup sleep ${marker} >/dev/null 2>&1 &); sleep 0.2; cat /proc/[0-9]*/cmdline | tr '\\0' ' '`,
      );
      await session.end();
      const listed = (await list()).some(({ id }) => id === session.id);
      const onHost = hostRuns(marker);
      const planted = before.output.includes(`sleep ${marker}`);
      return {
        refused: planted && !listed && !onHost,
        evidence: !planted
          ? "the daemon did not start"
          : listed || onHost
            ? "the daemon outlived its session"
            : "the daemon ended with its session",
      };
    },
  },
];

function hostRuns(marker: string): boolean {
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
