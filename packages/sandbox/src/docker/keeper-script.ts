// The keeper keeps a session's container alive. It is a shell with its own uid, which no command can signal or inspect. Invariants:
// 1. It first copies bash and perl, so that the session's uid may run the copies but not read them. The kernel closes the memory and the
//    descriptors of an unreadable program to all processes of the same user.
// 2. It ends itself and the container when its time is over, or when no worker has renewed its lease (SIGUSR1) in time.

import { LEASE_MS } from "../lease.ts";
import { LOWER_SCORES } from "./memory-scores.ts";

/** In /tmp, which is sticky: the session's uid can neither remove nor replace the keeper's files. */
export const SESSION_PROGRAMS = "/tmp/.session";
export const LEASE_SIGNAL = "SIGUSR1";

/**
 * Argument: seconds to live. The script counts a lease in loops of one second, not by the clock: a lease does not expire while the machine
 * sleeps.
 */
const KEEPER_SCRIPT = `
${LOWER_SCORES}
turns=0
trap 'turns=0' USR1
umask 077
mkdir ${SESSION_PROGRAMS} && chmod 711 ${SESSION_PROGRAMS} || exit 1
for program in "$BASH" "$(command -v perl)"; do
  name=${SESSION_PROGRAMS}/\${program##*/}
  cat "$program" >"$name.new" && chmod 711 "$name.new" && mv "$name.new" "$name" || exit 1
done
exec {idle}<> <(:)
while ((SECONDS < $1 && turns < ${LEASE_MS / 1000})); do
  read -r -t 1 -u "$idle" _
  ((turns += 1))
done
`;

/** In the environment, so that `ps` in a session shows a short line. */
export const keeper = {
  command: ["bash", "--noprofile", "--norc", "-c", 'text=$__mm_keeper; unset __mm_keeper; eval "$text"', "keeper"],
  environment: [`__mm_keeper=${KEEPER_SCRIPT}`],
};
