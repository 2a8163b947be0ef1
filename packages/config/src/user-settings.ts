import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * The folder of this user's own settings, outside every project. null: the machine defines none. A relative path does not count: it would
 * be inside the current folder, whose author may be a stranger.
 */
export function userSettings(env: Readonly<Record<string, string | undefined>> = process.env): string | null {
  const given = env.XDG_CONFIG_HOME ?? "";
  if (isAbsolute(given)) return join(given, "markmill");
  const home = homedir();
  return isAbsolute(home) ? join(home, ".config", "markmill") : null;
}
