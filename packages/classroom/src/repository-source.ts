/**
 * Repositories of a class as an export: one work per member, fetched when it is read. A repository that cannot be had stops that work alone.
 *
 * R1  One repository is one work. Members of one group who name the same hand in one work of the group; where others name the same, nobody knows
 *     whose it is, and it is fetched for none of them.
 */
import type { ReadWork, SubmissionLimits } from "@markmill/submission";
import { SubmissionError } from "@markmill/submission";
import type { ExportSource } from "./export-source.ts";
import { type FetchOptions, fetchRepository } from "./fetch-repository.ts";
import { FetchTrouble } from "./fetch-trouble.ts";
import type { Work } from "./layout.ts";
import type { Member } from "./member.ts";
import { type RepositoryAddress, readAddress, repositoryIdentity } from "./repository-address.ts";

/** In class.yaml: each student's address stands in the roster. */
export const ROSTER = "roster";

export interface RepositoryOptions extends Omit<FetchOptions, "limits"> {
  /** Below this folder repositories are read as files. */
  readonly folder: string;
}

interface Named {
  readonly members: readonly [Member, ...Member[]];
  readonly read: (limits: SubmissionLimits) => Promise<ReadWork>;
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
      works.set(member.key, { members: [member], read: () => Promise.reject(address) });
      continue;
    }
    const known = byIdentity.get(repositoryIdentity(address));
    if (known === undefined) byIdentity.set(repositoryIdentity(address), { address, by: [member] });
    else known.by.push(member);
  }
  for (const { address, by } of byIdentity.values()) {
    const [first] = by;
    const together = first.group !== undefined && by.every(({ group }) => group === first.group);
    if (by.length === 1 || together) {
      works.set(first.key, {
        members: by,
        read: async (limits) => await fetchRepository(address, { ...options, limits }),
      });
    } else for (const member of by) works.set(member.key, { members: [member], read: () => refuse(member, by) });
  }
  return {
    tops: [...works.keys()].map((name) => ({ name, is: "folder" })),
    works: members.flatMap(({ key }) => {
      const work = works.get(key);
      return work === undefined ? [] : [workOf(key, work.members)];
    }),
    links: [],
    read: async (top, limits) => await (works.get(top)?.read(limits) ?? Promise.reject(new Error(`no work ${top}`))),
    close: () => {},
  };
}

function workOf(top: string, members: readonly Member[]): Work {
  const [keys, group] = [members.map(({ key }) => key), members.length > 1 ? (members[0]?.group ?? null) : null];
  const pieces = [{ top, as: null }];
  return { label: top, pieces, says: { by: "keys", keys, group }, markedLate: false, submittedAt: null, attempt: null };
}

function refuse(member: Member, by: readonly Member[]): Promise<never> {
  const others = by.filter((other) => other !== member).map(({ key }) => key);
  const shown =
    others.length > 5 ? `${others.slice(0, 5).join(", ")} and ${others.length - 5} more` : others.join(", ");
  return Promise.reject(
    new FetchTrouble(
      `The same repository is named by ${shown}.`,
      "Find out whose it is and correct the roster, or give them the same group.",
      "INTAKE_SAME_REPOSITORY",
    ),
  );
}

/** null: the roster does not say what the address needs. A value stands in it as one piece of a path, whatever its letters. */
function addressOf(template: string, member: Member): string | null {
  let missing = false;
  const url = template.replaceAll(/\{(login|handle|id|key)\}/g, (_, field: "login" | "handle" | "id" | "key") => {
    const value = member[field];
    if (value === undefined || value === "" || value.startsWith("-") || /^\.+$/.test(value)) missing = true;
    return encodeURIComponent(value ?? "");
  });
  return missing ? null : url;
}
