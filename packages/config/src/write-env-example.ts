// Generates `.env.example` from the schema. `node packages/config/src/write-env-example.ts > .env.example` refreshes the file.
import { variables } from "./environment.ts";

export function writeEnvExample(): string {
  const lines = [
    "# Every variable Markmill reads, with its default. Copy to .env and keep the lines you change.",
    "# Without any of them Markmill runs on this machine alone, on a Postgres of its own.",
    "#",
    "# A .env counts only if you trust it: a command asks once on a terminal, and 'markmill trust' says it without one. A change of the file",
    "# asks again. Inside a submission nothing of it counts: its author may be the student. Where nobody can be asked (continuous integration,",
    "# containers), MARKMILL_TRUST=1 in the environment of the process trusts the folder at hand; a .env cannot set it.",
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
