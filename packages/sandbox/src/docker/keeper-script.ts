// What keeps a session's container alive: a shell of its own uid, which no command can signal or look into. Invariants:
// 1. It first makes copies of bash and perl that the session's uid may run and not read. The kernel closes the memory and the
//    descriptors of a program that cannot be read to all processes of the same user.
// 2. It ends itself, and the container with it, when its time is over or nobody has renewed its lease (SIGUSR1) for so long.

import { LEASE_MS } from "../lease.ts";
import { LOWER_SCORES } from "./memory-scores.ts";

/** In /tmp, which is sticky: the session's uid can neither remove nor replace what the keeper owns. */
export const SESSION_PROGRAMS = "/tmp/.session";
export const LEASE_SIGNAL = "SIGUSR1";

/** Argument: seconds to live. Leases are counted in turns of a second, not by the clock: a machine that slept lets none lapse. */
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
