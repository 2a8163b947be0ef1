import { userInfo } from "node:os";

/** The name for the record: `--by`, or else the current user account. A server records the owner of the key instead. */
export function whoSays(given: string | undefined): string {
  if (given !== undefined && given.trim() !== "") return given.trim();
  try {
    return userInfo().username || "somebody";
  } catch {
    return "somebody";
  }
}
