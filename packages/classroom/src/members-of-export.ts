/**
 * Lists the people whom an export names, for classes without a roster. Pure.
 *
 * E1  One person has one key. If several people have one Gradescope student number, their e-mail addresses are their keys.
 * E2  A number that occurs with several names means several people, each with a separate label.
 * E3  Two submissions with the same name and no key belong to two people.
 */
import { plainKey, plainName } from "@markmill/grading";
import type { Submitter, Work } from "./layout.ts";
import type { Member } from "./member.ts";
import { isParticipantWord } from "./participant-word.ts";

export function membersOfExport(works: readonly Work[]): (work: Work) => readonly Member[] {
  const owners = new Map<string, Set<string>>();
  const bare = new Map<string, number>();
  for (const { says } of works) {
    for (const submitter of says.by === "gradescope" ? says.submitters : []) {
      const { sid, email, name } = submitter;
      if (sid !== null)
        owners.set(plainKey(sid), (owners.get(plainKey(sid)) ?? new Set()).add(plainKey(email ?? name)));
      else if (email === null) bare.set(plainName(name), (bare.get(plainName(name)) ?? 0) + 1);
    }
  }
  const submitterOf = ({ name, sid: said, email }: Submitter, label: string): Member => {
    const sid = said !== null && owners.get(plainKey(said))?.size === 1 ? said : null;
    const alone = (bare.get(plainName(name)) ?? 0) > 1 || name === "" ? `${name} (${label})` : name;
    return {
      key: sid ?? email ?? alone,
      name: name === "" ? (email ?? label) : name,
      ...(sid === null ? {} : { id: sid }),
      ...(email === null ? {} : { email }),
    };
  };
  return ({ says, label }) => {
    switch (says.by) {
      case "canvas":
        return [{ key: label, id: says.user, name: says.name }];
      case "canvas-anonymous":
        return [{ key: label, id: says.user, name: label }];
      case "moodle": {
        const { number, name } = says;
        const called = name === "" ? `Participant ${number}` : isParticipantWord(name) ? `${name} ${number}` : name;
        return [{ key: label, participant: number, name: called }];
      }
      case "gradescope":
        return says.submitters.map((submitter) => submitterOf(submitter, label));
      case "pattern": {
        const name = says.student ?? says.group ?? label;
        return [{ key: name, name }];
      }
      case "keys":
        return says.keys.map((key) => ({ key, name: key }));
      case "name": {
        const name = says.name.replace(/\.(?:zip|tar|tar\.gz|tgz)$/i, "");
        return [{ key: name, name }];
      }
    }
  };
}
