import { join } from "node:path";
import { type Config, describeFindings, readProcessConfig } from "@markmill/config";
import { UsageError } from "../command.ts";

/** The environment over the `.env` of the working directory. */
export function requireConfig(cwd: string): Config {
  const reading = readProcessConfig(join(cwd, ".env"));
  if (!reading.ok) throw new UsageError(`the configuration is wrong.\n${describeFindings(reading.findings)}`);
  return reading.config;
}
