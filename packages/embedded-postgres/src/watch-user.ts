// The watch outlives its user, even after kill -9, and then does what the user no longer can: it removes the registration and, if no other
// user is left, stops the server (S3 of server-users.ts). It is a shell of about one megabyte that sleeps on a pipe. Only the user holds
// the other end of the pipe, and the kernel closes it when the user ends.
//
// During a grace period, a restarting user still finds the server running. The lock is that of lock-directory.ts; its user may have crashed
// while holding it.
import { type ChildProcess, spawn } from "node:child_process";
import { lockFileName } from "./lock-directory.ts";
import { programEnvironment } from "./run-program.ts";
import { usersDirectoryName } from "./server-users.ts";

const watchGraceSeconds = 5;

const script = `
read -r _
[ -e "$2" ] || exit 0
sleep ${watchGraceSeconds}
cd "$1" || exit 0
own=\${2##*/}
own=\${own%%.*}
tries=0
until (set -C; printf '{"pid":%s,"startedAt":null}' "$$" > ${lockFileName}) 2>/dev/null; do
  if (set -C; : > ${lockFileName}.break) 2>/dev/null; then
    if grep -q '"pid":'"$own"',' ${lockFileName} 2>/dev/null; then rm -f ${lockFileName}; fi
    rm -f ${lockFileName}.break
  fi
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || exit 0
  sleep 0.2
done
trap 'rm -f ${lockFileName}' EXIT
rm -f "$2"
for user in ${usersDirectoryName}/*; do
  pid=\${user##*/}
  pid=\${pid%%.*}
  if kill -0 "$pid" 2>/dev/null || [ -d "/proc/$pid" ]; then exit 0; fi
done
read -r pid < data/postmaster.pid || exit 0
if [ -d /proc/self ]; then
  [ "$(readlink "/proc/$pid/cwd")" = "$1/data" ] || exit 0
else
  ps -o comm= -p "$pid" | grep -q postgres || exit 0
fi
kill -INT "$pid" || exit 0
tries=0
while kill -0 "$pid" 2>/dev/null && [ -e data/postmaster.pid ] && [ "$tries" -lt 100 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
`;

/** The watch ends by itself once the registration is gone and the returned release is called. */
export function watchUser(directory: string, registration: string): { release(): void } {
  const shell: ChildProcess = spawn("/bin/sh", ["-c", script, "markmill-postgres-watch", directory, registration], {
    cwd: "/",
    detached: true,
    env: programEnvironment,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a shell the server just keeps running after a kill -9; the next start attaches to it.
  shell.on("error", () => undefined);
  shell.stdin?.on("error", () => undefined);
  shell.unref();
  if (shell.stdin !== null && "unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return { release: () => shell.stdin?.end() };
}
