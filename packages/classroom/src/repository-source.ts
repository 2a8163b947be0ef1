/**
 * Presents the repositories of a class as an export: one submission per student, fetched when it is read. A failed fetch stops only that
 * submission.
 *
 * R1  One repository is one submission. If members of one group name the same repository, it is a submission of the group. If the group has
 *     several such repositories, it is a submission of these members, so that the repositories are not attempts of each other. If other
 *     students name the same repository, its owner is unknown, and it is fetched for none of them.
 */
import type { SubmissionLimits } from "@markmill/grading/submission";
import { SubmissionError } from "@markmill/grading/submission";
import type { ExportSource, SourceWork } from "./export-source.ts";
import { type FetchOptions, fetchRepository } from "./fetch-repository.ts";
import { FetchTrouble } from "./fetch-trouble.ts";
import type { Work } from "./layout.ts";
import type { Member } from "./member.ts";
import { type RepositoryAddress, readAddress, repositoryIdentity } from "./repository-address.ts";

/** The value in class.yaml for addresses that are in the roster. */
export const ROSTER = "roster";

export interface RepositoryOptions extends Omit<FetchOptions, "limits"> {
  /** Repositories below this folder are read as files. */
  readonly folder: string;
}

interface Named {
  readonly members: readonly [Member, ...Member[]];
  readonly group: string | null;
  readonly read: (limits: SubmissionLimits) => Promise<SourceWork>;
}

export async function repositorySource(
  from: string,
  members: readonly Member[],
  { folder, ...options }: RepositoryOptions,
): Promise<ExportSource> {
  const works = new Map<string, Named>();
  const byIdentity = new Map<string, { readonly address: RepositoryAddress; readonly by: [Member, ...Member[]] }>();
  for (const member of members) {
    const written = from === ROSTER ? (member.repository ?? null) : addressOf(from, member);
    if (written === null) continue;
    const address = await readAddress(written, { folder }).catch((error: unknown) => {
      if (error instanceof SubmissionError) return error;
      throw error;
    });
    if (address instanceof SubmissionError) {
      works.set(member.key, { members: [member], group: null, read: () => Promise.reject(address) });
      continue;
    }
    const known = byIdentity.get(repositoryIdentity(address));
    if (known === undefined) byIdentity.set(repositoryIdentity(address), { address, by: [member] });
    else known.by.push(member);
  }
  const shared = [...byIdentity.values()].flatMap(({ by }) => groupOf(by) ?? []);
  for (const { address, by } of byIdentity.values()) {
    const group = groupOf(by);
    if (by.length === 1 || group !== null) {
      works.set(by[0].key, {
        members: by,
        group: shared.filter((other) => other === group).length === 1 ? group : null,
        read: async (limits) => await fetchRepository(address, { ...options, limits }),
      });
    } else
      for (const member of by)
        works.set(member.key, { members: [member], group: null, read: () => refuse(member, by) });
  }
  return {
    tops: [...works.keys()].map((name) => ({ name, is: "folder" })),
    works: members.flatMap(({ key }) => {
      const work = works.get(key);
      return work === undefined ? [] : [workOf(key, work)];
    }),
    links: [],
    read: async (top, limits) => await (works.get(top)?.read(limits) ?? Promise.reject(new Error(`no work ${top}`))),
    close: () => {},
  };
}

/** The group of several students who name the same repository. null: a single student, or not one group. */
function groupOf([first, ...others]: readonly [Member, ...Member[]]): string | null {
  if (others.length === 0 || first.group === undefined) return null;
  return others.every(({ group }) => group === first.group) ? first.group : null;
}

function workOf(top: string, { members, group }: Named): Work {
  const keys = members.map(({ key }) => key);
  const pieces = [{ top, as: null }];
  return { label: top, pieces, says: { by: "keys", keys, group }, markedLate: false, submittedAt: null, attempt: null };
}

function refuse(member: Member, by: readonly Member[]): Promise<never> {
  const others = by.filter((other) => other !== member).map(({ key }) => key);
  const shown =
    others.length > 5 ? `${others.slice(0, 5).join(", ")} and ${others.length - 5} more` : others.join(", ");
  return Promise.reject(
    new FetchTrouble(
      `These students name the same repository: ${shown}.`,
      "Find its owner and correct the roster, or put these students into the same group.",
      "INTAKE_SAME_REPOSITORY",
    ),
  );
}

/** Returns null if the roster lacks a value that the address needs. A value becomes one segment of the path, whatever its letters. */
function addressOf(template: string, member: Member): string | null {
  let missing = false;
  const url = template.replaceAll(/\{(login|handle|id|key)\}/g, (_, field: "login" | "handle" | "id" | "key") => {
    const value = member[field];
    if (value === undefined || value === "" || value.startsWith("-") || /^\.+$/.test(value)) missing = true;
    return encodeURIComponent(value ?? "");
  });
  return missing ? null : url;
}
