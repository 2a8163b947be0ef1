/** Repositories of a class as an export: one folder per member, fetched when it is read. A repository that cannot be had stops that work alone. */
import type { ExportSource } from "./export-source.ts";
import { type FetchOptions, fetchRepository } from "./fetch-repository.ts";
import type { Member } from "./member.ts";

/** In class.yaml: each student's address stands in the roster. */
export const ROSTER = "roster";

export function repositorySource(
  template: string,
  members: readonly Member[],
  options: Omit<FetchOptions, "limits">,
): ExportSource {
  const addresses = new Map(
    members.flatMap((member) => {
      const url = template === ROSTER ? (member.repository ?? null) : addressOf(template, member);
      return url === null ? [] : [[member.key, url] as const];
    }),
  );
  return {
    tops: [...addresses.keys()].map((name) => ({ name, is: "folder" })),
    links: [],
    read: async (top, limits) => await fetchRepository(addresses.get(top) ?? "", { ...options, limits }),
    close: () => {},
  };
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
