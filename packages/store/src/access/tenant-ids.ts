/** Whose a definition, a run, a file, a budget is. */

/** The one tenant of an installation that has no others: the embedded stack, and what was there before there were tenants. */
export const defaultTenant = "default";

/** Stands in names of objects and keys of caches: no slash, no dot at its beginning, no line break. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

export function isTenantId(id: string): boolean {
  return pattern.test(id);
}
