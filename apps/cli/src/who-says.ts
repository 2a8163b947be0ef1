import { userInfo } from "node:os";

/** Who acts, for the record: `--by`, else the account at this machine. A server writes down whose key it was. */
export function whoSays(given: string | undefined): string {
  if (given !== undefined && given.trim() !== "") return given.trim();
  try {
    return userInfo().username || "somebody";
  } catch {
    return "somebody";
  }
}
