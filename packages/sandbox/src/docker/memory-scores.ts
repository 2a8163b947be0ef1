/**
 * Decides which process the kernel kills first when the memory of a session is used up: first commands, then the process that keeps the
 * container alive.
 *
 * K1  The engine starts every process of the container with KEEPER_SCORE.
 * K2  A program that runs foreign text first raises its own score to COMMAND_SCORE, and its children inherit it.
 * K3  The keeper lowers its own score as far as the kernel allows. A command may do the same and get an equal score; the kernel then kills
 *     the larger of the two. If a container ends this way, its command ran out of memory (ended-by-memory.ts).
 */

/** Above 0: the sandbox's processes go first when the host runs out of memory. */
export const KEEPER_SCORE = 500;
const COMMAND_SCORE = 1000;

const FILE = "/proc/self/oom_score_adj";

/** For a readable shell. The kernel lets no process write this file for a program that it may run but not read. */
export const RAISE_SCORE = `echo ${COMMAND_SCORE} >${FILE}`;

/** A command line that sets the highest score and then becomes `argv`. */
export function withHighestScore(argv: readonly string[]): string[] {
  return ["/bin/sh", "-c", `${RAISE_SCORE}; exec "$@"`, "sh", ...argv];
}

/** For the keeper's shell: lowers its own score and that of the container's first process. */
export const LOWER_SCORES = `{ echo 0 >/proc/1/oom_score_adj; echo 0 >/proc/$$/oom_score_adj; } 2>/dev/null`;
