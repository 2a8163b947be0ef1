import { type Config, describeFindings, type EnvFilePlace, readProcessConfig } from "@markmill/config";
import { WrongInput } from "./wrong-input.ts";

/** Where a process runs, and where it speaks to a person. */
export interface Place {
  readonly cwd: string;
  err(text: string): void;
}

/** By the one who was told. */
const told = new WeakMap<Place, Set<string>>();

/** The environment over what counts of the `.env` of the project. Everything that does not count is reported, once. */
export function requireConfig(place: Place, envFile: EnvFilePlace = {}): Config {
  const reading = readProcessConfig(place.cwd, envFile);
  if (!reading.ok) throw new WrongInput(`the configuration is invalid.\n${describeFindings(reading.findings)}`);
  const known = told.get(place) ?? new Set<string>();
  told.set(place, known);
  for (const note of reading.notes) if (known.size < known.add(note).size) place.err(`note: ${note}`);
  return reading.config;
}
