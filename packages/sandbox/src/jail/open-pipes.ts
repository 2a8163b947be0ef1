// Creates real pipes for a foreign program. Node gives a child socket pairs: the program could not open /dev/stdin, and would hold a socket
// to the worker. Node cannot create a pipe, so a short-lived bash does. Both ends are opened through its /proc before it exits. The pipes
// have no name on the host.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, fchownSync, openSync } from "node:fs";
import { Socket } from "node:net";

const MAKE = "exec 3<> <(:) 4<> <(:) 5<> <(:); echo; read -r _";

export interface Pipes {
  /** The child's ends, in the order of its descriptors. */
  readonly theirs: readonly [number, number, number];
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** Closes our copies of the child's ends once the child has them: otherwise our ends would never see an end of file. */
  release(): void;
}

/** `uid`: the user who may open them by name (/dev/stdin), if it is not the worker's own user. */
export async function openPipes(bash: string, uid: number | undefined): Promise<Pipes> {
  const maker = spawn(bash, ["--noprofile", "--norc", "-c", MAKE], { env: {}, stdio: ["pipe", "pipe", "ignore"] });
  const opened: number[] = [];
  const open = (place: number, flags: number) => {
    const fd = openSync(`/proc/${maker.pid}/fd/${place}`, flags);
    opened.push(fd);
    return fd;
  };
  try {
    maker.stdin.on("error", () => {});
    await Promise.race([once(maker.stdout, "data"), once(maker, "exit")]);
    const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
    const theirs = [open(3, O_RDONLY), open(4, O_WRONLY), open(5, O_WRONLY)] as const;
    if (uid !== undefined) for (const fd of theirs) fchownSync(fd, uid, uid);
    const [write, output, errors] = [
      open(3, O_WRONLY | O_NONBLOCK),
      open(4, O_RDONLY | O_NONBLOCK),
      open(5, O_RDONLY | O_NONBLOCK),
    ];
    return {
      theirs,
      stdin: new Socket({ fd: write, readable: false, writable: true }),
      stdout: new Socket({ fd: output, readable: true, writable: false }),
      stderr: new Socket({ fd: errors, readable: true, writable: false }),
      release: () => {
        for (const fd of theirs) closeSync(fd);
      },
    };
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  } finally {
    // The bash holds all ends open: while it lives, a pipe would have no end of file.
    if (maker.exitCode === null && maker.signalCode === null) {
      const gone = once(maker, "exit");
      maker.kill("SIGKILL");
      await gone;
    }
  }
}
