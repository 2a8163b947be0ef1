/** Whose a definition, a run, a file, a budget is. */

/** The one tenant of an installation that has no others: the embedded stack, and what was there before there were tenants. */
export const defaultTenant = "default";
