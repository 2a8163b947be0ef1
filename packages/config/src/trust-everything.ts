/**
 * MARKMILL_TRUST=1 in the environment of the process: the folder at hand counts as the user's own, for continuous integration and containers, where
 * nobody can be asked. It is read from the environment alone: no `.env` file can set it.
 */
export function trustsEverything(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return /^(1|yes|true)$/i.test((env.MARKMILL_TRUST ?? "").trim());
}
