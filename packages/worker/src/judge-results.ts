/** Turns the results of a judge's command into the form that an outcome carries. Checks the nonce and removes it. Pure. */
import { type ReadResults, readGradescopeResults, readTestResults, testsOfGradescope } from "@markmill/grading";
import { type CommandOutcome, type Decision, redactNonce } from "@markmill/sandbox";

export interface ToldResults {
  readonly tests?: string;
  readonly notes?: readonly string[];
}

/**
 * tests: the file comes from our test runner and has the nonce. autograder: it is the results.json of an autograder made for Gradescope.
 */
export type ResultsBy = "tests" | "autograder";

export function readDecision(decision: Decision, by: ResultsBy = "tests"): ToldResults {
  const read = readLeft(decision, by);
  if (read === null) return {};
  const tests = redactNonce(JSON.stringify(read), decision.nonce);
  const notes = read.is === "read" ? read.notes.slice(0, mostNotes) : [`The test results do not count: ${read.why}.`];
  return { tests, ...(notes.length === 0 ? {} : { notes }) };
}

const mostNotes = 20;

function readLeft({ outcome, results, nonce }: Decision, by: ResultsBy): ReadResults | null {
  if (results === null)
    return { is: "unusable", why: `the tests reached a time limit (${clocks[outcome.timedOut || "wall"]})` };
  switch (results.kind) {
    case "missing":
      return by === "tests" ? null : { is: "unusable", why: `the autograder left no results: ${endOf(outcome)}` };
    case "too long":
      return { is: "unusable", why: `the results are too long (${results.size} bytes)` };
    case "refused":
      return { is: "unusable", why: `the results cannot be read: ${results.why}` };
    case "read":
      return by === "tests"
        ? readTestResults(textOf(results.bytes), nonce)
        : readAutograder(textOf(results.bytes), outcome);
  }
}

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Code that runs inside the autograder can write any result, and the teacher must know this. */
const ownWord =
  "The results cannot be verified: the autograder runs the student's code in its own session, so the student's code could have written them.";
const LONGEST_MESSAGE = 10_000;
const MOST_TESTS = 10_000;

function readAutograder(text: string, outcome: CommandOutcome): ReadResults {
  const read = readGradescopeResults(text);
  if (read.is === "unusable") return read;
  const { tests, notes, score } = read.results;
  if (tests.length === 0 && score === null)
    return { is: "unusable", why: "results.json has neither a score nor tests" };
  if (tests.length > MOST_TESTS) return { is: "unusable", why: `there are more than ${MOST_TESTS} tests` };
  const odd = outcome.exitCode === 0 ? [] : [`The autograder ended with exit code ${outcome.exitCode}.`];
  const said = testsOfGradescope(read.results);
  const kept = said.tests.map((test) => ({ ...test, message: test.message.slice(0, LONGEST_MESSAGE) }));
  return { ...said, is: "read", tests: kept, notes: [ownWord, ...odd, ...notes, ...said.notes] };
}

/** Exit codes of the command `autograder` itself (sandbox, autograder-script.ts). */
function endOf({ exitCode }: CommandOutcome): string {
  if (exitCode === 2) return "it is not complete";
  if (exitCode === 3) return "its setup.sh failed";
  return exitCode === 4 ? "there is no results/results.json" : `exit code ${exitCode}`;
}

const clocks: Readonly<Record<Exclude<CommandOutcome["timedOut"], false>, string>> = {
  wall: "they took too long",
  cpu: "they computed too long",
  silence: "they were silent for too long",
};
