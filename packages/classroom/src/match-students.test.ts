import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sortCanvas, sortGradescope, sortMoodle, sortPlain, type Work } from "./layout.ts";
import { StudentIndex } from "./match-students.ts";
import { readRoster } from "./roster.ts";

const roster = (text: string) => {
  const read = readRoster(Buffer.from(text), "roster.csv");
  expect(read.findings.filter(({ severity }) => severity === "error")).toEqual([]);
  return read;
};
const folders = (...names: string[]) => names.map((name) => ({ name, is: "folder" as const }));
const files = (...names: string[]) => names.map((name) => ({ name, is: "file" as const }));

/** For each submission: the keys of its students, "question: …" with all candidates, or "unknown". */
const owners = (text: string, works: readonly Work[], requires: readonly string[] = []) =>
  new StudentIndex(roster(text), requires).matchAll(works.map(({ says }) => says)).map((match) => {
    if (match.is === "matched") return match.by.map(({ key }) => key).join("+");
    return match.is === "ambiguous" ? `question: ${match.among.map(({ key }) => key).join(", ")}` : "unknown";
  });
const moodle = (text: string, ...names: string[]) => owners(text, sortMoodle(folders(...names)).works);
const canvas = (text: string, ...names: string[]) => owners(text, sortCanvas(files(...names)).works);
const plain = (text: string, ...names: string[]) => owners(text, sortPlain(folders(...names)).works);
const loose = (text: string, ...names: string[]) => owners(text, sortPlain(files(...names)).works);

describe("matching a Moodle export", () => {
  const worksheet = `Identifier,"Full name","ID number","Email address"
Participant 4101,"Ada Lovelace",4102,ada@x.org
Participant 4102,"Alan Turing",4101,alan@x.org
Participant 4103,"Anna Schmidt",,anna@x.org
`;

  it("compares participant numbers with participant numbers, not with ID numbers", () => {
    expect(
      moodle(worksheet, "Ada Lovelace_4101_assignsubmission_file_", "Alan Turing_4102_assignsubmission_file_"),
    ).toEqual(["4102", "4101"]);
  });

  it("asks if number and name belong to different students", () => {
    expect(moodle(worksheet, "Alan Turing_4101_assignsubmission_file_")).toEqual(["question: 4102, 4101"]);
  });

  it("asks if no student has the name and it shares nothing with the name of the number's student", () => {
    expect(moodle(worksheet, "Grace Hopper_4101_assignsubmission_file_")).toEqual(["question: 4102"]);
    expect(moodle(worksheet, "Ada Hopper_4101_assignsubmission_file_")).toEqual(["question: 4102"]);
  });

  it("accepts a name with more or fewer words, an initial, another order, or a login before it", () => {
    const names = ["A. Lovelace", "Lovelace", "Lovelace, Ada", "Ada King Lovelace", "ada01 Ada Lovelace"];
    for (const name of names) {
      expect(moodle(worksheet, `${name}_4101_assignsubmission_file_`), name).toEqual(["4102"]);
    }
  });

  it("does not match by name a student whose participant number in the roster differs", () => {
    expect(moodle(worksheet, "Anna Schmidt_4999_assignsubmission_file_")).toEqual(["question: 4103"]);
  });

  it("does not match two submissions with one name to one student", () => {
    const named = "login,name\nas,Anna Schmidt\nal,Ada Lovelace\n";
    expect(moodle(named, "Anna Schmidt_1_assignsubmission_file_", "Anna Schmidt_2_assignsubmission_file_")).toEqual([
      "question: as",
      "question: as",
    ]);
    expect(moodle(named, "Anna Schmidt_1_assignsubmission_file_")).toEqual(["as"]);
    const partly =
      "Identifier,Full name,Username\nParticipant 7,Bo Li,bo\n,Anna Schmidt,as\nParticipant 9,A Schmidt,a2\n";
    expect(moodle(partly, "Anna Schmidt_7_assignsubmission_file_", "Anna Schmidt_8_assignsubmission_file_")).toEqual([
      "question: 7, as",
      "as",
    ]);
  });

  it("assigns a team's folder to the team, not to the participant with the group's number", () => {
    const teams = `Identifier,Full name,Group
Participant 11,Ada Lovelace,Team Alpha
Participant 12,Alan Turing,Team Beta
Participant 13,Anna Schmidt,Team Alpha
`;
    expect(moodle(teams, "Team Alpha_12_assignsubmission_file_")).toEqual(["11+13"]);
    expect(moodle(teams, "Team Gamma_12_assignsubmission_file_")).toEqual(["question: 12"]);
    expect(moodle(teams, "Team Alpha-Anna Schmidt_13_assignsubmission_file_")).toEqual(["13"]);
  });

  it("asks if a team has a student's name, unless the number is the student's", () => {
    const teams = "Identifier,Full name,Group\nParticipant 1,Ada Lovelace,Turing\nParticipant 2,Turing,Lovelace\n";
    expect(moodle(teams, "Turing_9_assignsubmission_file_")).toEqual(["question: 2, 1"]);
    expect(moodle(teams, "Turing_2_assignsubmission_file_")).toEqual(["2"]);
    expect(
      moodle("Identifier,Group\nParticipant 1,Turing\nParticipant 2,T2\n", "Turing_2_assignsubmission_file_"),
    ).toEqual(["question: 2, 1"]);
  });

  it("asks if the roster spells a team in two ways", () => {
    expect(
      moodle("id,name,group\n1,A,Team 1\n2,B,team-1\n3,C,1.1\n4,D,11\n", "Team 1_9_assignsubmission_file_"),
    ).toEqual(["question: 1, 2"]);
    expect(moodle("id,name,group\n1,A,1.1\n2,B,11\n", "1.1_9_assignsubmission_file_")).toEqual(["1"]);
  });

  it("adds no files to another student's submission because of a name in Moodle's format", () => {
    const evil = "Eve_4101_assignsubmission_file__4103_assignsubmission_file_";
    expect(moodle(worksheet, "Ada Lovelace_4101_assignsubmission_file_", evil)).toEqual(["4102", "question: 4103"]);
    expect(
      moodle(worksheet, "Ada Lovelace_4101_assignsubmission_file_", "Eve_4101_assignsubmission_onlinetext_"),
    ).toEqual(["4102", "question: 4102"]);
    expect(
      moodle(worksheet, "Ada Lovelace_4101_assignsubmission_file_", "Ada Lovelace_4101_assignsubmission_onlinetext_"),
    ).toEqual(["4102"]);
  });

  it("uses participant numbers alone when marking is blind, in any language", () => {
    for (const word of ["Participant", "Teilnehmer_in", "Teilnehmerin", "Participante", "Partecipante", "Участник"]) {
      expect(moodle(worksheet, `${word}_4101_assignsubmission_file_`), word).toEqual(["4102"]);
    }
    expect(
      moodle(worksheet, ...["4101", "4102", "4103"].map((number) => `Kursist_${number}_assignsubmission_file_`)),
    ).toEqual(["4102", "4101", "4103"]);
  });

  it("uses names if the roster has only other numbers", () => {
    expect(
      moodle("id,name\n4102,Ada Lovelace\n4101,Alan Turing\n", "Ada Lovelace_4101_assignsubmission_file_"),
    ).toEqual(["4102"]);
    expect(moodle("id,name\n1,Anna Schmidt\n2,Anna Schmidt\n", "Anna Schmidt_2_assignsubmission_file_")).toEqual([
      "question: 1, 2",
    ]);
  });
});

describe("matching a Canvas export", () => {
  const book = `Student,ID,SIS User ID,SIS Login ID,Section
"Schmidt, Anna",901,5,anna,A
"Schmidt, Anna",902,901,902,A
"van der Berg, Jan",7,902,jan,A
"Müller, Jörg",8,9,mueller,A
`;

  it("distinguishes two students with one name by the user's number", () => {
    expect(canvas(book, "schmidtanna_901_1_a.py", "schmidtanna_902_2_a.py", "vanderbergjan_7_3_a.py")).toEqual([
      "901",
      "902",
      "7",
    ]);
  });

  it("does not match by name a third student of that name, or by a number that is another student's SIS id", () => {
    expect(canvas(book, "schmidtanna_903_1_a.py", "müllerjörg_9_2_a.py")).toEqual([
      "question: 901, 902",
      "question: 8",
    ]);
  });

  it("never treats an anonymous id as a user's number", () => {
    expect(canvas(book, "anon_901_1_a.py")).toEqual(["unknown"]);
  });
});

describe("matching a Gradescope export", () => {
  const metadata = (...submitters: [name: string, sid: string, email: string][]) =>
    owners(
      "id,login,name,email\n1,x,Ada Lovelace,ada@x.org\n2,1,Alan Turing,alan@x.org\n3,z,Anna Schmidt,\n",
      sortGradescope(
        folders(...submitters.map((_, at) => `s${at}`)),
        submitters
          .map(
            ([name, sid, email], at) =>
              `s${at}:\n  :submitters:\n  - :name: ${name}\n    :sid: "${sid}"\n    :email: "${email}"\n`,
          )
          .join(""),
      )?.works ?? [],
    );

  it("compares a student number with ids, never with logins", () => {
    expect(metadata(["Ada Lovelace", "1", ""])).toEqual(["1"]);
    expect(metadata(["Ada Lovelace", "x", ""])).toEqual(["question: 1"]);
  });

  it("asks if student number and e-mail address belong to different students", () => {
    expect(metadata(["Ada Lovelace", "1", "alan@x.org"])).toEqual(["question: 1, 2"]);
    expect(metadata(["Ada Lovelace", "", "alan@x.org"])).toEqual(["question: 2, 1"]);
  });

  it("falls back to the name only if no key of the student differs", () => {
    expect(metadata(["Anna Schmidt", "", "anna@x.org"])).toEqual(["3"]);
    expect(metadata(["Ada Lovelace", "", "ada@home.org"])).toEqual(["question: 1"]);
    expect(metadata(["Anna Schmidt", "3", ""], ["Anna Schmidt", "", "other@x.org"])).toEqual(["3", "question: 3"]);
  });
});

describe("matching folders with free names", () => {
  const logins = "login,name\nanna,Anna Schmidt\nada,Ada Lovelace\nalan,Alan Turing\n";

  it.each([
    ["anna", "anna"],
    ["anna_mueller", "unknown"],
    ["hw1_anna_mueller_final", "unknown"],
    ["anna.weber", "unknown"],
    ["anna_m", "unknown"],
    ["anna_4711234", "unknown"],
    ["anna (2)", "anna"],
    ["sheet 3 - Schmidt, Anna", "anna"],
    ["annaschmidt", "anna"],
    ["anna_schmidt_anna", "anna"],
    ["joanna", "unknown"],
    ["anna_ada", "question: anna, ada"],
    ["ada_lovelace_alan_turing", "question: ada, alan"],
    ["ada_lovelace_alan_turing_mueller", "unknown"],
  ])("matches the folder %s to: %s", (name, owner) => {
    expect(plain(logins, name)).toEqual([owner]);
  });

  it("accepts a folder of two students if the roster has them in one group", () => {
    const pairs = "login,name,group\nada,Ada Lovelace,T1\nalan,Alan Turing,T1\nanna,Anna Schmidt,T2\nbo,Bo Li,T1\n";
    expect(plain(pairs, "ada_lovelace_alan_turing", "ada+anna", "T1 - ada", "T2 - ada", "T1")).toEqual([
      "ada+alan",
      "question: ada, anna",
      "ada",
      "question: ada, anna",
      "ada+alan+bo",
    ]);
  });

  it("compares keys exactly: zeros, dots and namespaces count", () => {
    const keys = `id,login,name,email
007,a.b,Ada Lovelace,x@a.org
7,a_b,Alan Turing,y@a.org
9,99,Anna Schmidt,bo@a.org
99,bo,Bo Li,z@a.org
`;
    expect(plain(keys, "007", "7", "a.b", "a_b", "a-b", "ab", "99", "bo")).toEqual([
      "007",
      "7",
      "007",
      "7",
      "question: 007, 7",
      "unknown",
      "question: 9, 99",
      "question: 9, 99",
    ]);
    expect(plain(keys, "7_ada lovelace", "007 ada lovelace", "ada lovelace 7")).toEqual([
      "question: 7, 007",
      "007",
      "007",
    ]);
  });

  it("compares names without accents and in any order, and asks if several fit", () => {
    const names = `id,name
1,Jörg Müller
2,Joerg Mueller
3,Jan van der Berg
4,Anna
5,Anna Schmidt
6,Anna Schmidt Weber
`;
    expect(plain(names, "van der Berg, Jan", "anna", "schmidt anna", "Anna Schmidt Weber", "jorg muller")).toEqual([
      "3",
      "4",
      "5",
      "6",
      "question: 1, 2",
    ]);
  });

  it("asks if a login is another student's name", () => {
    expect(plain("login,name\nanna,Ada Lovelace\nx,Anna\n", "anna", "Anna", "x")).toEqual([
      "question: anna, x",
      "question: anna, x",
      "x",
    ]);
  });

  it("asks if the pattern names a student who is not in the group", () => {
    const groups = "login,name,group\nada,Ada Lovelace,T1\nalan,Alan Turing,T2\n";
    const works = sortPlain(folders("T1-ada", "T2-ada", "T3-ada"), /^(?<group>T\d)-(?<student>.+)$/u).works;
    expect(owners(groups, works)).toEqual(["ada", "question: ada, alan", "ada"]);
  });

  it("accepts loose files with the name of a required file after the key", () => {
    expect(loose(logins, "ada_median.py", "anna.py", "ada_lovelace.tar.gz", "anna.klein")).toEqual([
      "unknown",
      "anna",
      "ada",
      "unknown",
    ]);
    expect(owners(logins, sortPlain(files("ada_median.py", "anna_mueller.py")).works, ["src/median.py"])).toEqual([
      "ada",
      "unknown",
    ]);
  });
});

describe("property: a submission goes to its owner, or the teacher is asked", () => {
  interface Student {
    readonly first: string;
    readonly last: string;
    readonly id: string;
    readonly participant: string;
    readonly sisId: string;
    readonly login: string;
    readonly email: string;
    readonly group: string;
  }
  const numbers = ["1", "2", "7", "007", "12", "101", "4101", "4102", "4103", "20201101"];
  const words = ["anna", "ada", "mueller", "muller", "schmidt", "anna.schmidt", "anna_schmidt", "bo", "final", "li"];
  const texts = fc.constantFrom(...numbers, ...words);
  const student = fc.record({
    first: fc.constantFrom("Anna", "Ada", "Jörg", "Bo", "Anna Maria", "Final"),
    last: fc.constantFrom("Schmidt", "Müller", "Mueller", "van der Berg", "Li", ""),
    id: fc.constantFrom(...numbers, ...words),
    participant: fc.constantFrom(...numbers),
    sisId: texts,
    login: texts,
    email: texts.chain((local) => fc.constantFrom(`${local}@x.org`, `${local}@y.org`)),
    group: fc.constantFrom("", "T1", "12", "Anna Schmidt", "Anna"),
  });
  const unique = (kind: keyof Student) => (students: readonly Student[]) =>
    new Set(students.map((one) => one[kind].toLowerCase())).size === students.length;
  /** Keys of one kind are unique, as platforms make them. Names, and keys of different kinds, can be equal. */
  const classOf = fc
    .uniqueArray(student, { minLength: 2, maxLength: 6, selector: ({ participant }) => participant })
    .filter((all) => (["id", "sisId", "login", "email"] as const).every((kind) => unique(kind)(all)));
  const columns = fc.subarray(["participant", "sisId", "login", "email", "group", "name"] as const);
  const nameOf = ({ first, last }: Student) => `${first} ${last}`.trim();
  const quote = (text: string) => `"${text}"`;
  const csv = (students: readonly Student[], shown: readonly string[]) => {
    const has = (column: string) => shown.includes(column);
    const header = ["ID number", ...(has("participant") ? ["Identifier"] : []), ...(has("sisId") ? ["SIS ID"] : [])];
    header.push(...(has("login") ? ["login"] : []), ...(has("email") ? ["email"] : []), "Full name");
    if (has("group")) header.push("group");
    const rows = students.map((one) => [
      one.id,
      ...(has("participant") ? [`Participant ${one.participant}`] : []),
      ...(has("sisId") ? [one.sisId] : []),
      ...(has("login") ? [one.login] : []),
      ...(has("email") ? [one.email] : []),
      has("name") ? nameOf(one) : "",
      ...(has("group") ? [one.group] : []),
    ]);
    return [header, ...rows].map((row) => row.map(quote).join(",")).join("\n");
  };
  /** `works`: for each submission, the index of the student who submitted it. */
  const check = (
    students: readonly Student[],
    text: string,
    works: readonly (readonly [owner: number, work: Work])[],
  ) => {
    const read = readRoster(Buffer.from(text), "roster.csv");
    if (read.findings.some(({ severity }) => severity === "error")) return;
    const matches = new StudentIndex(read).matchAll(works.map(([, { says }]) => says));
    let matched = 0;
    for (const [at, match] of matches.entries()) {
      if (match.is !== "matched") continue;
      matched += 1;
      const owner = students[works[at]?.[0] ?? -1];
      expect(match.by.map(({ id }) => id)).toEqual([owner?.id]);
    }
    return matched;
  };

  it("holds for random Moodle exports", () => {
    let matched = 0;
    fc.assert(
      fc.property(classOf, columns, (students, shown) => {
        // Without names and numbers, a group cannot be distinguished from a student with the same name.
        const told = shown.filter((column) => column !== "group" || shown.includes("name"));
        const { works } = sortMoodle(
          folders(...students.map((one) => `${nameOf(one)}_${one.participant}_assignsubmission_file_`)),
        );
        const owned = works.map(
          (work) => [students.findIndex(({ participant }) => participant === work.label), work] as const,
        );
        matched += check(students, csv(students, told), owned) ?? 0;
      }),
      { numRuns: 1500 },
    );
    expect(matched).toBeGreaterThan(1000);
  });

  it("holds for random Canvas exports", () => {
    let matched = 0;
    fc.assert(
      fc.property(classOf, (students) => {
        const numbered = students.filter(({ id }) => /^\d+$/.test(id));
        const text = ["Student,ID,SIS User ID,SIS Login ID,Section"]
          .concat(numbered.map((one) => `"${one.last}, ${one.first}",${one.id},${one.sisId},${one.login},A`))
          .join("\n");
        const names = numbered.map((one) => `${one.last}${one.first}`.toLowerCase().replaceAll(" ", ""));
        const { works } = sortCanvas(files(...numbered.map((one, at) => `${names[at]}_${one.id}_${at}_a.py`)));
        const owned = works.map((work) => [numbered.findIndex(({ id }) => id === work.label), work] as const);
        matched += check(numbered, text, owned) ?? 0;
      }),
      { numRuns: 1000 },
    );
    expect(matched).toBeGreaterThan(500);
  });

  it("holds for random Gradescope exports with missing keys", () => {
    let matched = 0;
    const missing = fc.array(fc.subarray(["sid", "email", "name"] as const), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(classOf, columns, missing, (students, shown, left) => {
        // A student number and an SIS id can be the same number, so this roster has only one of them.
        const text = csv(
          students,
          shown.filter((column) => column !== "sisId" && column !== "group"),
        );
        const entries = students.map((one, at) => {
          const value = (field: "sid" | "email" | "name", written: string) =>
            left[at]?.includes(field) ? "" : written;
          return `s${at}:\n  :submitters:\n  - :name: "${value("name", nameOf(one))}"\n    :sid: "${value("sid", one.id)}"\n    :email: "${value("email", one.email)}"\n`;
        });
        const sorted = sortGradescope(folders(...students.map((_, at) => `s${at}`)), entries.join(""));
        const owned = (sorted?.works ?? []).map((work) => [Number(work.label.slice(1)), work] as const);
        matched += check(students, text, owned) ?? 0;
      }),
      { numRuns: 1500 },
    );
    expect(matched).toBeGreaterThan(1000);
  });

  it("holds for folders named after any entry of the roster", () => {
    let matched = 0;
    const styles = fc.array(fc.nat(8), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(classOf, styles, (students, chosen) => {
        const text = csv(students, ["login", "email", "name", "participant"]);
        const named = students.map((one, at) => {
          const name = nameOf(one);
          const ways = [
            one.id,
            one.login,
            one.email,
            name,
            `${one.last}, ${one.first}`,
            `${one.login}_${name}`,
            `${name} (2)`,
            `hw1_${one.login}_final`,
            `sheet 3 - ${name} - ${one.id}`,
          ];
          return ways[chosen[at] ?? 0] ?? "";
        });
        const { works } = sortPlain(folders(...named));
        matched +=
          check(
            students,
            text,
            works.map((work, at) => [at, work] as const),
          ) ?? 0;
      }),
      { numRuns: 1500 },
    );
    expect(matched).toBeGreaterThan(1000);
  });
});
