import { join } from "node:path";
import { type Config, describeFindings, type EnvFilePlace, readProcessConfig } from "@markmill/config";
import { WrongInput } from "./wrong-input.ts";

/** Where a process runs, and where it speaks to a person. */
export interface Place {
  readonly cwd: string;
  err(text: string): void;
}

const told = new Set<string>();

/** The environment over what counts of the `.env` of the working directory. */
export function requireConfig(place: Place, envFile: EnvFilePlace = {}): Config {
  const reading = readProcessConfig(join(place.cwd, ".env"), envFile);
  if (!reading.ok) throw new WrongInput(`the configuration is wrong.\n${describeFindings(reading.findings)}`);
  for (const note of reading.notes) if (told.size < told.add(note).size) place.err(`note: ${note}`);
  return reading.config;
}
