// `.env.example`, from the schema. `node packages/config/src/write-env-example.ts > .env.example` refreshes the file.
import { variables } from "./environment.ts";

export function writeEnvExample(): string {
  const lines = [
    "# Every variable of Markmill, with its default. Copy this file to .env and keep the lines that you change.",
    "# Without any variable, Markmill runs only on this machine, with its own Postgres.",
    "#",
    "# Markmill reads a .env only if you trust it. A command asks once on a terminal; without a terminal, use 'markmill trust'. After a change of",
    "# the file, Markmill asks again. It ignores a .env inside a submission, because a student may have written it. In continuous integration and",
    "# containers, MARKMILL_TRUST=1 in the environment of the process trusts the current folder. A .env file cannot set this variable.",
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
