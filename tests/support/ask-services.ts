// A test file's side of global-setup.ts.
import { inject } from "vitest";
import type { Answers, Skip } from "./global-setup.ts";

// A test file whose run was killed would otherwise go on, and hold its services, until its last test ends.
process.once("disconnect", () => process.exit(1));

export async function askService<Name extends keyof Answers>(name: Name, lane?: string): Promise<Answers[Name]> {
  return (await post(lane === undefined ? name : `${name}/${lane}`)) as Answers[Name];
}

/** The banner at the end of the run will say so. */
export async function reportSkip(skip: Skip): Promise<void> {
  await post("skipped", skip);
}

async function post(name: string, body: unknown = {}): Promise<unknown> {
  const response = await fetch(`${inject("testServices").url}/${name}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`test service ${name}: ${await response.text()}`);
  return response.json();
}
