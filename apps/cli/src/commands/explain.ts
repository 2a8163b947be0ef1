import { parseArgs } from "node:util";
import { suggest } from "@markmill/definition";
import { codeCatalogue } from "../code-catalogue.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { jsonText } from "../json-text.ts";

export const explain: Command = {
  help: `Usage: markmill explain CODE [--json]

Explain the code of a finding, a failure or an error: what it means, what
happens next, and what to do. docs/codes.md lists all codes.

  --json       print JSON

Examples:
  markmill explain PROMPT_UNKNOWN
  markmill explain limit_cost`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: "boolean" } },
    });
    const [word, ...more] = positionals;
    if (word === undefined || more.length > 0) throw new UsageError("Name one code.");
    const wanted = word.toUpperCase().replaceAll("-", "_");
    const found = codeCatalogue.flatMap(({ title, about, entries }) =>
      entries.filter(({ code }) => code === wanted).map((entry) => ({ group: title, about, ...entry })),
    );
    if (found.length === 0) {
      const near = suggest(
        wanted,
        codeCatalogue.flatMap(({ entries }) => entries.map(({ code }) => code)),
      );
      throw new UsageError(`Unknown code ${wanted}.${near === null ? "" : ` Did you mean ${near}?`}`);
    }
    if (values.json) {
      const items = found.map(({ code, group, about, means, next, fix }) => ({
        code,
        group,
        message: means,
        follows: next ?? about,
        hint: fix,
      }));
      terminal.out(jsonText({ items, next: null }));
    } else {
      const told = found.map(({ code, group, about, means, next, fix }) =>
        [`${code}  (${group})`, `  ${means}`, `  next: ${next ?? about}`, `  fix:  ${fix}`].join("\n"),
      );
      terminal.out(told.join("\n\n"));
    }
    return exitCodes.success;
  },
};
