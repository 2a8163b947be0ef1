// The part of the launcher's shell that scans the session's writable folders for checkpoints. It needs findutils, coreutils and tar.

import { MAX_DEPTH } from "../checkpoint/look.ts";
import { PLACES } from "../checkpoint/manifest.ts";

/** `others`: lists the session's processes except this one, as pid@start in `found`, and their parents in `parents`. */
const OTHERS = `
others() {
  local path pid line stat
  found=() parents=()
  set +f
  for path in /proc/[0-9]*; do
    pid=\${path#/proc/}
    ((pid == 1 || pid == $$)) && continue
    kill -0 "$pid" 2>/dev/null || continue
    line=
    { IFS= read -r -d '' line <"$path/stat"; } 2>/dev/null
    [[ -n $line ]] || continue
    stat=(\${line##*) })
    [[ \${stat[0]} != [ZX] ]] || continue
    found[pid]=$pid@\${stat[19]} parents[pid]=\${stat[1]}
  done
}
`;

/**
 * `processes`: prints the time, the top-level processes and an empty line, all ended by NUL.
 * `look 0 <entries> <seconds>`: prints the same, then the entries. One entry or one level more than allowed shows that there are more.
 * Files of another uid belong to the keeper (keeper-script.ts) and are skipped.
 * `pack <bytes> <entries> <seconds>`: prints an archive of the paths on stdin.
 * `look` and `pack` return 124 when the time is over.
 */
export const LOOK_FUNCTIONS = `${OTHERS}
processes() {
  local pid
  others
  set -f
  printf '%s\\0' "$(date +%s%N)"
  for pid in "\${!found[@]}"; do ((parents[pid] > 1)) || printf '%s\\0' "\${found[pid]}"; done
  printf '\\0'
}
look() {
  local code
  processes
  LC_ALL=C timeout --foreground -s KILL "$3" find ${PLACES.join(" ")} -mindepth 1 -maxdepth ${MAX_DEPTH + 1} ! -uid $UID -prune -o -mindepth 1 -printf '%y %m %s %D.%i %C@ %p\\0' |
    head -z -n "$(($2 + 1))"
  code=\${PIPESTATUS[0]}
  # 137: killed by its clock. 141: nobody read on, because there was enough.
  ((code != 137)) || return 124
  ((code != 141)) || return 0
  return "$code"
}
pack() {
  local code
  head -c "$1" |
    LC_ALL=C timeout --foreground -s KILL "$3" tar -c --format=posix --pax-option=delete=atime,delete=ctime --no-recursion --null -T - -f -
  code=\${PIPESTATUS[1]}
  ((code != 137)) || return 124
  return "$code"
}
`;

/** Ends all processes of the session except the processes in its arguments and their descendants. */
export const KILL_OTHERS = `
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
${OTHERS}
keep=" $* "
for ((round = 0; round < 200; round++)); do
  others
  doomed=()
  for pid in "\${!found[@]}"; do
    spared=
    for ((at = pid, depth = 0; at > 1 && depth < 1000; at = parents[at], depth++)); do
      [[ -z \${found[at]-} || $keep != *" \${found[at]} "* ]] || spared=1
    done
    [[ -n $spared ]] || doomed+=("$pid")
  done
  ((\${#doomed[@]} > 0)) || exit 0
  # All are stopped before the first is killed, so that none forks ahead of us.
  kill -STOP "\${doomed[@]}" 2>/dev/null
  kill -KILL "\${doomed[@]}" 2>/dev/null
  read -r -t 0.01 _ <> <(:)
done
exit 1
`;
