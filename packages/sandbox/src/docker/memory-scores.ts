/**
 * Whom the kernel kills first when the memory of a session is used up: commands, then the process that keeps the container alive.
 *
 * K1  The engine starts every process of the container with KEEPER_SCORE.
 * K2  Whatever runs foreign text first raises its own score to COMMAND_SCORE, and its children inherit it.
 * K3  The keeper lowers its own score as far as the kernel lets it. A command may do the same and become its equal; the kernel then kills
 *     the larger of the two. A container that ends this way has a command that ran out of memory (ended-by-memory.ts).
 */

/** Above 0: the sandbox's processes go first when the host runs out of memory. */
export const KEEPER_SCORE = 500;
const COMMAND_SCORE = 1000;

const FILE = "/proc/self/oom_score_adj";

/** For a shell that can be read: the kernel lets no process write this file of a program that it may run and not read. */
export const RAISE_SCORE = `echo ${COMMAND_SCORE} >${FILE}`;

/** A command line that becomes `argv` with the highest score. */
export function withHighestScore(argv: readonly string[]): string[] {
  return ["/bin/sh", "-c", `${RAISE_SCORE}; exec "$@"`, "sh", ...argv];
}

/** For the keeper's shell: its own, and that of the container's first process. */
export const LOWER_SCORES = `{ echo 0 >/proc/1/oom_score_adj; echo 0 >/proc/$$/oom_score_adj; } 2>/dev/null`;
