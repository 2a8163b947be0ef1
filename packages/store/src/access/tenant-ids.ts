/** The tenant that owns a definition, a run, a file or a budget. */

/** The only tenant of an installation without others: the embedded stack, and data from before there were tenants. */
export const defaultTenant = "default";

/** Tenant ids are part of object names and cache keys. So they contain no slash, no leading dot and no line break. */
const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

export function isTenantId(id: string): boolean {
  return pattern.test(id);
}
