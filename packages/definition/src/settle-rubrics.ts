/**
 * Decides which rubric a GRADE uses: the class's, the file's own, or that of the requested workflow. Afterwards each program that grades
 * contains its rubric, so a run needs only its program. Programs that do not grade stay unchanged and keep their hash.
 */
import type { Json, Node, Program } from "@markmill/engine";
import type { Rubric } from "@markmill/grading";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";

const TEST_RESULTS = "TEST_RESULTS";

/** The programs that changed, by file. */
export function settleRubrics(
  parsed: ReadonlyMap<string, LoadedFile>,
  root: string,
  given: Rubric | null,
  report: FindingReport,
): ReadonlyMap<string, Program> {
  const settled = new Map<string, Program>();
  const top = parsed.get(root)?.program ?? null;
  const brought = given as unknown as Json | null;
  const grading = [...parsed].filter(([, { program }]) => program !== null && nodesOf(program, "grade").length > 0);
  for (const [file, { program, sources }] of grading) {
    if (program === null) continue;
    const rubric = brought ?? program.rubric ?? top?.rubric;
    const ways = program.grading ?? top?.grading;
    const [first = ""] = nodesOf(program, "grade");
    const at = sources.nodes[first] ?? { file, line: 1, column: 1 };
    if (rubric === undefined) {
      report.error(
        "GRADE_WITHOUT_RUBRIC",
        at,
        `${first} has no rubric.`,
        "Add a section # Rubric with a table | id | criterion | points |, or rubric: FILE in the front matter.",
      );
      continue;
    }
    const { limits, ...rest } = program;
    settled.set(file, { ...rest, rubric, ...(ways === undefined ? {} : { grading: ways }), limits });
    const tested = (rubric as unknown as Rubric).criteria.filter(({ source }) => source.is === "tests");
    if (tested[0] !== undefined && !someJudge(parsed)) {
      report.warn(
        "RUBRIC_UNTESTED",
        program.rubric === undefined ? at : (sources.rubric ?? at),
        `${tested.map(({ id }) => id).join(", ")}: tests grade this, and no command of the workflow runs in the judge session.`,
        "Write session: judge on the EXECUTE that runs the tests, such as EXECUTE_TESTS@{ session: judge }.",
      );
    }
  }
  if (grading.length > 0) checkResults(parsed, report);
  else if (given !== null) {
    report.error(
      "GRADE_MISSING",
      { file: root, line: 1, column: 1 },
      "The class has a rubric, but no node of the workflow uses it.",
      "Add a node such as GRADE_WORK to the flowchart.",
    );
  }
  tellUnused(parsed, root, given !== null, report);
  return settled;
}

function tellUnused(
  parsed: ReadonlyMap<string, LoadedFile>,
  root: string,
  replaced: boolean,
  report: FindingReport,
): void {
  if (replaced) return;
  const borrowed = [...parsed.values()].some(
    ({ program }) => program !== null && program.rubric === undefined && nodesOf(program, "grade").length > 0,
  );
  for (const [file, { program, sources }] of parsed) {
    if (program?.rubric === undefined || nodesOf(program, "grade").length > 0 || (file === root && borrowed)) continue;
    report.warn(
      "RUBRIC_UNUSED",
      sources.rubric ?? { file, line: 1, column: 1 },
      "No node uses this rubric.",
      "Add a node such as GRADE_WORK to the flowchart, or remove the rubric.",
    );
  }
}

/** TEST_RESULTS contains only the results of a judge session. No text of the flow may write it. */
function checkResults(parsed: ReadonlyMap<string, LoadedFile>, report: FindingReport): void {
  for (const [file, { program, sources }] of parsed) {
    const start = { file, line: 1, column: 1 };
    const tell = (at = start) =>
      report.error(
        "TEST_RESULTS_SET",
        at,
        `${TEST_RESULTS} contains the test results from the judge session. A workflow cannot write it.`,
        "Use another name.",
      );
    for (const [id, node] of Object.entries(program?.nodes ?? {}))
      if (node.kind === "set" && node.target.to === "variable" && node.target.name === TEST_RESULTS)
        tell(sources.nodes[id]);
    if (program?.params.some(({ name }) => name === TEST_RESULTS)) tell(sources.params[TEST_RESULTS]);
  }
}

function someJudge(parsed: ReadonlyMap<string, LoadedFile>): boolean {
  return [...parsed.values()].some(({ program }) =>
    Object.values(program?.nodes ?? {}).some((node) => node.kind === "execute" && node.session === "judge"),
  );
}

function nodesOf({ nodes }: Program, kind: Node["kind"]): string[] {
  return Object.entries(nodes).flatMap(([id, node]) => (node.kind === kind ? [id] : []));
}
