/**
 * An OpenSSH server on loopback, from the distribution's package, for one user who may read what is below a folder. Started by root it has a
 * passwd and a /run of its own in a mount namespace, so nothing is installed and no user is made.
 */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unpackPackages } from "./unpack-packages.ts";

export interface SshServer {
  readonly port: number;
  readonly user: string;
  /** Paths of files. */
  readonly key: string;
  readonly knownHosts: string;
  stop(): Promise<void>;
}

const uid = 54_321;

export async function startSshServer(cache: string, folder: string): Promise<SshServer> {
  const { path, libraryPath } = await unpackPackages(cache, "openssh", ["openssh-server"]);
  const sshd = path
    .split(":")
    .map((one) => join(one, "sshd"))
    .find((one) => existsSync(one));
  if (sshd === undefined) throw new Error("the package has no sshd");
  const at = (name: string) => join(folder, name);
  mkdirSync(folder, { recursive: true });
  for (const name of ["host", "key"]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(name)]);
  copyFileSync(at("key.pub"), at("authorized_keys"));
  chmodSync(at("authorized_keys"), 0o644);
  const root = process.getuid?.() === 0;
  const user = root ? "markmill" : execFileSync("id", ["-un"]).toString().trim();
  const port = await freePort();
  const session = join(sshd, "../../lib/openssh/sshd-session");
  const auth = join(sshd, "../../lib/openssh/sshd-auth");
  writeFileSync(
    at("config"),
    [
      `Port ${port}`,
      ...["ListenAddress 127.0.0.1", `HostKey ${at("host")}`, `PidFile ${at("pid")}`, "UsePAM no", "StrictModes no"],
      ...[
        `AuthorizedKeysFile ${at("authorized_keys")}`,
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
      ],
      ...(existsSync(session) ? [`SshdSessionPath ${session}`] : []),
      ...(existsSync(auth) ? [`SshdAuthPath ${auth}`] : []),
      "",
    ].join("\n"),
  );
  const own = [
    `sshd:x:${uid - 1}:${uid - 1}::/run/sshd:/usr/sbin/nologin`,
    `${user}:x:${uid}:${uid}::${folder}:/bin/sh`,
    "",
  ].join("\n");
  writeFileSync(at("passwd"), `${readFileSync("/etc/passwd", "utf8").trimEnd()}\n${own}`);
  const serve = `exec ${sshd} -D -e -f ${at("config")}`;
  const apart = `mount --bind ${at("passwd")} /etc/passwd && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && ${serve}`;
  const env = { PATH: process.env.PATH ?? "", LD_LIBRARY_PATH: libraryPath };
  const child = root
    ? spawn("unshare", ["-m", "sh", "-c", apart], { env, stdio: ["ignore", "ignore", "pipe"] })
    : spawn("sh", ["-c", serve], { env, stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  const stop = async () => {
    child.kill("SIGKILL");
    await sleep(50);
  };
  for (let tries = 0; !(await listens(port)); tries += 1) {
    if (child.exitCode !== null || tries > 100) {
      await stop();
      throw new Error(`sshd does not listen: ${words.trim().split("\n").at(-1)}`);
    }
    await sleep(100);
  }
  writeFileSync(at("known_hosts"), `[127.0.0.1]:${port} ${readFileSync(at("host.pub"), "utf8")}`);
  return { port, user, key: at("key"), knownHosts: at("known_hosts"), stop };
}

/** git reads only what belongs to whom it runs as. */
export function giveToSshUser(folder: string): void {
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", `${uid}:${uid}`, folder]);
  else chownSync(folder, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
