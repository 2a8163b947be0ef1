// Writes `docs/codes.md` from the catalogue. `node apps/cli/src/write-codes-page.ts > docs/codes.md` updates the file.
import { codeCatalogue } from "./code-catalogue.ts";

export function writeCodesPage(): string {
  const lines = [
    "# Codes",
    "",
    "This page lists every stable code: what it means, what happens next, and what to do. `markmill explain CODE` prints one of them.",
    "This page is generated from the lists in the code: `node apps/cli/src/write-codes-page.ts > docs/codes.md`.",
  ];
  for (const { title, about, entries } of codeCatalogue) {
    const hasNext = entries.some(({ next }) => next !== undefined);
    lines.push("", `## ${title}`, "", about, "");
    lines.push(hasNext ? "| code | meaning | next | what to do |" : "| code | meaning | what to do |");
    lines.push(hasNext ? "|---|---|---|---|" : "|---|---|---|");
    for (const { code, means, next, fix } of entries) {
      const cells = [`\`${code}\``, means, ...(hasNext ? [next ?? "as above"] : []), fix];
      lines.push(`| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("<", "&lt;")).join(" | ")} |`);
    }
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) process.stdout.write(writeCodesPage());
