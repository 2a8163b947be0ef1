import { join } from "node:path";
import { type Config, describeFindings, type EnvFilePlace, readProcessConfig } from "@markmill/config";
import { type Terminal, UsageError } from "../command.ts";

const told = new Set<string>();

/** The environment over what counts of the `.env` of the working directory. */
export function requireConfig(terminal: Pick<Terminal, "cwd" | "err">, place: EnvFilePlace = {}): Config {
  const reading = readProcessConfig(join(terminal.cwd, ".env"), place);
  if (!reading.ok) throw new UsageError(`the configuration is wrong.\n${describeFindings(reading.findings)}`);
  for (const note of reading.notes) if (told.size < told.add(note).size) terminal.err(`note: ${note}`);
  return reading.config;
}
