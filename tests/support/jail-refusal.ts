import { createJailSandbox, type SandboxError } from "@markmill/sandbox";

/** Why this machine gives no jail; null: it does. */
export async function jailRefusal(): Promise<string | null> {
  return await createJailSandbox({ root: "/nonexistent" }).then(
    () => null,
    (error: SandboxError) => error.message,
  );
}
