/**
 * With MARKMILL_TRUST=1 in the environment of the process, the current folder counts as the user's own. This is for continuous integration
 * and containers, where no person can be asked. It is read only from the environment: no `.env` file can set it.
 */
export function trustsEverything(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return /^(1|yes|true)$/i.test((env.MARKMILL_TRUST ?? "").trim());
}
