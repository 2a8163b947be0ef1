// Generates `.env.example` from the schema. `node packages/config/src/write-env-example.ts > .env.example` refreshes the file.
import { variables } from "./environment.ts";

export function writeEnvExample(): string {
  const lines = [
    "# All environment variables of Markmill, with their defaults. Copy this file to .env and keep the lines that you change.",
    "# Without any of them Markmill runs on this machine alone, on a Postgres of its own.",
    "#",
    "# A .env counts only if you trust it. On a terminal a command asks once; without a terminal, use 'markmill trust'. If the file changes,",
    "# Markmill asks again. A .env inside a submission is ignored, because its author may be the student. In continuous integration and",
    "# containers, MARKMILL_TRUST=1 in the environment of the process trusts the current folder; a .env cannot set it.",
  ];
  let section = "";
  for (const { name, fallback, description, unit, ...variable } of variables) {
    if (variable.section !== section) {
      section = variable.section;
      lines.push("", `## ${section}`);
    }
    lines.push("", `# ${description}${unit === undefined ? "" : ` Unit: ${unit}.`}`, `#${name}=${fallback ?? ""}`);
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) process.stdout.write(writeEnvExample());
