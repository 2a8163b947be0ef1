import type { RouteName } from "@markmill/contract";

type Details = { readonly [name: string]: string | number | boolean | null };

/** Body fields that describe the request and contain no secrets and no personal text. */
const told: Partial<Record<RouteName, readonly string[]>> = {
  saveDefinition: ["root"],
  startRun: ["definition", "submission"],
  retryRun: ["definition", "from"],
  cancelRun: ["message"],
  saveBatch: ["definition", "concurrency"],
  updateBatch: ["concurrency", "model"],
  regradeWorks: ["definition"],
  recordGrade: ["kind", "criterion"],
  createUser: ["name", "roles"],
  updateUser: ["roles", "disabled"],
  createKey: ["name", "roles", "scopes", "expiresAt"],
  createTenant: ["id", "name"],
  createWebhook: ["url", "events"],
  updateWebhook: ["url", "events", "enabled"],
};

export function auditDetails(name: RouteName, body: unknown): Details {
  if (typeof body !== "object" || body === null) return {};
  const given = body as Record<string, unknown>;
  const found: Record<string, string | number | boolean | null> = {};
  for (const field of told[name] ?? []) {
    const value = given[field];
    if (value === undefined) continue;
    found[field] = typeof value === "boolean" || typeof value === "number" ? value : String(value).slice(0, 500);
  }
  if (name === "updateUser" && given.password !== undefined) found.password = "changed";
  return found;
}
