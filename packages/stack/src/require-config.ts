import { type Config, describeFindings, type EnvFilePlace, readProcessConfig } from "@markmill/config";
import { WrongInput } from "./wrong-input.ts";

/** The working directory of a process, and its output to the person. */
export interface Place {
  readonly cwd: string;
  err(text: string): void;
}

/** Messages that were already shown, by place. */
const told = new WeakMap<Place, Set<string>>();

/** Reads the environment, and the accepted settings of the project's `.env` below it. Each ignored setting is reported once. */
export function requireConfig(place: Place, envFile: EnvFilePlace = {}): Config {
  const reading = readProcessConfig(place.cwd, envFile);
  if (!reading.ok) throw new WrongInput(`the configuration is invalid.\n${describeFindings(reading.findings)}`);
  const known = told.get(place) ?? new Set<string>();
  told.set(place, known);
  for (const note of reading.notes) if (known.size < known.add(note).size) place.err(`note: ${note}`);
  return reading.config;
}
