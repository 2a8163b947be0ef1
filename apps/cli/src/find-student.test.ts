import type { GradeEvent } from "@markmill/grading";
import { gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { attemptsOf, attemptToUndo, findWork } from "./find-student.ts";

const members = [
  { key: "1", name: "Åsa Öberg", email: "asa@x.org", pseudonym: "Student-A" },
  { key: "2", name: "Ada Lovelace", login: "ada" },
  { key: "3", name: "Ada Byron" },
  { key: "4", name: "Max" },
];
const works = ["1", "2", "3"].map((key) => workOf(key, gradeOf([6, 4])));

describe("finding a student", () => {
  it.each([
    ["1", "1#1"],
    ["asa oberg", "1#1"],
    ["Öberg", "1#1"],
    ["asa@x.org", "1#1"],
    ["Student-A", "1#1"],
    ["1#1", "1#1"],
    ["ada", "2#1"],
    ["byron", "3#1"],
  ])("succeeds by %s", (wanted, key) => expect(findWork(wanted, members, works).work.key).toBe(key));

  it("asks again if several or no students match", () => {
    const twins = [...members, { key: "5", name: "Ada King" }];
    expect(() => findWork("nobody", members, works)).toThrow("No student");
    expect(() => findWork("Max", members, works)).toThrow("handed in nothing");
    expect(() =>
      findWork(
        "Ada",
        twins.filter(({ key }) => key !== "2"),
        works,
      ),
    ).toThrow(/Ada Byron \(3\) or Ada King/);
  });
});

it("findWork chooses the best of several attempts that count, and sorts attempt 9 before attempt 11", () => {
  const attempt = (number: number, points: number) =>
    workOf("1", gradeOf([points, 0]), { key: `1#${number}`, attempt: number });
  const listed = [attempt(1, 1), attempt(10, 2), attempt(11, 3), attempt(9, 6)];
  expect(findWork("1", members, listed).work.key).toBe("1#9");
  const equal = [attempt(1, 1), attempt(10, 2), attempt(11, 6), attempt(9, 6)];
  expect(findWork("1", members, equal).work.key).toBe("1#11");
  expect(findWork("1#10", members, equal).work.key).toBe("1#10");
});

it("attemptToUndo finds the attempt that was marked, even if another one counts since", () => {
  const attempt = (number: number, points: number, events: readonly GradeEvent[] = []) =>
    workOf("1", gradeOf([points, 4]), { key: `1#${number}`, attempt: number }, events);
  const said: GradeEvent = {
    id: 7,
    work: "1#9",
    at: "2026-01-01T00:00:00.000Z",
    by: "ada",
    kind: "override",
    criterion: "names",
    from: 4,
    to: 0,
    takesBack: null,
    reason: "so",
    comment: "",
    rubricHash: "r",
    content: "c",
    try: 1,
  };
  const works = [attempt(11, 5, [{ ...said, id: 8, by: "bob", to: 3 }]), attempt(9, 6, [said]), attempt(3, 5)];
  const { work: meant } = findWork("1", members, works);
  expect(meant.key).toBe("1#3");
  const undo = (by: string, criterion = "names", entry: number | null = null) =>
    attemptToUndo(meant, works, { criterion, entry, by }).key;
  expect([undo("ada"), undo("bob"), undo("cleo"), undo("ada", "tests"), undo("ada", "names", 8)]).toEqual([
    ...["1#9", "1#11", "1#11", "1#3", "1#11"],
  ]);
  expect(attemptsOf(meant, works).map(({ key }) => key)).toEqual(["1#3", "1#9", "1#11"]);
});
