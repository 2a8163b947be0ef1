/**
 * Checks invariants of a class for property tests. Returns the violated ones, in words.
 *
 * O1  Every student with a submission that counts is exactly one of: graded, on the review list, ungradable, grader error, waiting. The
 *     table, the counts and the review list agree.
 * O2  A student waits only while a submission of the student is waiting or running.
 * O3  Every mark of a person is listed: it counts with its points, or it is shown as replaced, taken back, about other content, or for a
 *     criterion that the rubric no longer has. The event that replaced it or took it back exists.
 * O4  Every number follows from its parts: points are the sum of the criteria, the total is points less penalty, never below 0.
 */
import { statusOf } from "@markmill/classroom/gradebook";
import type { Rubric } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import type { BatchMember, BatchWork } from "@markmill/store";
import { reviewList } from "./review-order.ts";

const milli = (points: number) => Math.round(points * 1000);

export function brokenOutcomes(rubric: Rubric, members: readonly BatchMember[], works: readonly BatchWork[]): string[] {
  return [
    ...brokenLists(rubric, members, works),
    ...works.flatMap((work) => [...brokenMarks(rubric, work), ...brokenSums(rubric, work)]),
  ];
}

/** See O1 and O2 in the file header. */
function brokenLists(rubric: Rubric, members: readonly BatchMember[], works: readonly BatchWork[]): string[] {
  const broken: string[] = [];
  const { sheet, works: counting } = classSheet({ name: "c", rubric }, members, works);
  const list = reviewList(counting);
  const listed = list.flatMap(({ is, students }) => (is === "needs human" ? students : []));
  if (new Set(listed).size !== listed.length) broken.push("a student is twice on the review list");
  for (const row of sheet.rows) {
    const { key } = row.student;
    const own = works.filter(({ counts, by }) => counts && by.includes(key));
    const status = statusOf(row);
    const expected = ["graded", "needs human", "ungradable", "grader error", "waiting"];
    if (own.length === 0 ? status !== "nothing handed in" : !expected.includes(status))
      broken.push(`${key} handed in ${own.length} works and is ${status}`);
    if (listed.includes(key) !== (status === "needs human"))
      broken.push(`${key} is ${status}, and ${listed.includes(key) ? "" : "not "}on the review list`);
    if (status === "waiting" && !own.some(({ standing }) => standing.is === "waiting" || standing.is === "running"))
      broken.push(`${key} is waiting, and nothing of ${key} is under way`);
    if ((status === "graded") !== (row.grade !== null && row.grade.total !== null))
      broken.push(`${key} is ${status}, with the total ${row.grade?.total}`);
  }
  return broken;
}

/** See O3 in the file header. */
function brokenMarks(rubric: Rubric, { key, events, marks, grade, content }: BatchWork): string[] {
  const said = events.filter(({ kind, to }) => kind === "override" && to !== null);
  const broken = said.flatMap(({ id }) => (marks.some((mark) => mark.id === id) ? [] : `${key}: mark ${id} is lost`));
  const hash = hashOf({ content });
  for (const { id, criterion, points, fate } of marks) {
    const of = events.find((event) => event.id === id);
    const told = `${key}: mark ${id} (${fate.is})`;
    switch (fate.is) {
      case "stands": {
        const most = rubric.criteria.find((one) => one.id === criterion)?.points ?? 0;
        const shown = grade?.criteria.find((one) => one.id === criterion);
        const clamped = Math.min(Math.max(points, Math.min(0, most)), Math.max(0, most));
        if (shown?.is !== "scored" || shown.by !== "human" || milli(shown.points) !== milli(clamped))
          broken.push(`${told} is not shown with its points`);
        break;
      }
      case "replaced": {
        const newer = marks.find((mark) => mark.id === fate.by);
        if (newer === undefined || newer.id <= id || newer.criterion !== criterion || newer.fate.is === "taken back")
          broken.push(`${told} is replaced by nothing that counts`);
        break;
      }
      case "taken back":
        if (!events.some((event) => event.id === fate.by && event.to === null && event.takesBack === id))
          broken.push(`${told} was taken back by nobody`);
        break;
      case "other content":
        if (of?.content === hash) broken.push(`${told} is about the present content`);
        break;
      case "no criterion":
        if (rubric.criteria.some((one) => one.id === criterion)) broken.push(`${told} has its criterion`);
    }
  }
  return broken;
}

/** A mark that counts is lost only through a person's action, other content, or a removed criterion. */
export function lostMarks(was: readonly BatchWork[], is: readonly BatchWork[]): string[] {
  return was.flatMap((old) => {
    const now = is.find(({ key }) => key === old.key);
    const isSame = now !== undefined && hashOf(now) === hashOf(old);
    return old.marks.flatMap(({ id, fate }) => {
      const after = now?.marks.find((mark) => mark.id === id)?.fate.is;
      return fate.is === "stands" && (after === undefined || (isSame && after === "other content"))
        ? [`${old.key}: mark ${id} is lost`]
        : [];
    });
  });
}

function hashOf({ content }: Pick<BatchWork, "content">): string | null {
  return content.is === "taken" || content.is === "undecided" ? content.hash : null;
}

/** See O4 in the file header. */
function brokenSums(rubric: Rubric, { key, grade }: BatchWork): string[] {
  if (grade === null) return [];
  const broken: string[] = [];
  const ids = (criteria: readonly { readonly id: string }[]) => criteria.map(({ id }) => id).join();
  if (ids(grade.criteria) !== ids(rubric.criteria)) broken.push(`${key}: the criteria are not the rubric's`);
  const most = rubric.criteria.reduce((sum, { points }) => sum + milli(Math.max(0, points)), 0);
  if (milli(grade.most) !== most) broken.push(`${key}: the most is ${grade.most}`);
  const scored = grade.criteria.flatMap((one) => (one.is === "scored" ? [milli(one.points)] : []));
  const whole = scored.length === grade.criteria.length;
  const sum = Math.max(
    0,
    scored.reduce((all, one) => all + one, 0),
  );
  if (grade.points !== null && (!whole || grade.points !== sum / 1000))
    broken.push(`${key}: points are ${grade.points}`);
  if (grade.outcome.is === "graded" && !whole) broken.push(`${key} is graded with an open criterion`);
  if ((grade.outcome.is === "graded") !== (grade.total !== null)) broken.push(`${key}: the total is ${grade.total}`);
  const total = Math.max(0, sum - milli(grade.penalty?.points ?? 0)) / 1000;
  if (grade.total !== null && grade.total !== total) broken.push(`${key}: the total is ${grade.total}, not ${total}`);
  return broken;
}
