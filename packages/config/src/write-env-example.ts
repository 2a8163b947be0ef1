// `.env.example`, from the schema. `node packages/config/src/write-env-example.ts > .env.example` refreshes the file.
import { variables } from "./environment.ts";

export function writeEnvExample(): string {
  const lines = [
    "# Every variable Markmill reads, with its default. Copy to .env and keep the lines you change.",
    "# Without any of them Markmill runs on this machine alone, on a Postgres of its own.",
    "#",
    "# A .env counts whole only in a Markmill project: a folder of your own with .markmill/ or class.yaml ('markmill init' makes one).",
    "# Elsewhere only what says 'any .env' is taken from it, and inside a submission nothing: its author may be the student.",
  ];
  let section = "";
  for (const { name, fallback, description, unit, ...variable } of variables) {
    if (variable.section !== section) {
      section = variable.section;
      lines.push("", `## ${section}`);
    }
    const where = variable.anywhere === true ? " (any .env)" : "";
    lines.push(
      "",
      `# ${description}${unit === undefined ? "" : ` Unit: ${unit}.`}${where}`,
      `#${name}=${fallback ?? ""}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) process.stdout.write(writeEnvExample());
