import { parseArgs } from "node:util";
import type { MemoryScope, TenantMemory } from "@markmill/store";
import { formatCount } from "../amounts.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { withStack } from "../with-stack.ts";

export const memory: Command = {
  help: `Usage: markmill memory [SCOPE] [--delete] [--json]

List the named memory scopes that runs share. With SCOPE: list its passages in
the order in which runs inserted them.

  --delete   delete the passages of SCOPE; passages that runs insert during the
             deletion are kept
  --json     print one JSON object

The private memory of a run is not listed. It is deleted with the run.

Examples:
  markmill memory
  markmill memory course-2026 | grep tide
  markmill memory course-2025 --delete`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: "boolean" }, delete: { type: "boolean" } },
    });
    const [name, ...more] = positionals;
    if (more.length > 0) throw new UsageError("Name one scope, or no scope for a list.");
    if (name === undefined && values.delete === true) throw new UsageError("Name the scope to delete.");
    if (name === undefined) {
      const scopes = await withStack<readonly MemoryScope[]>(
        terminal,
        ({ tenant }) => all((after) => tenant.memory.scopes(after)),
        { empty: () => [] },
      );
      if (values.json === true) terminal.out(jsonText({ items: scopes, next: null }));
      else if (scopes.length === 0) terminal.err("There are no named memory scopes.");
      else for (const scope of scopes) terminal.out(lineOf(scope));
      return exitCodes.success;
    }
    return await withStack(terminal, async ({ tenant }) => {
      if (values.delete === true) {
        const gone = await tenant.memory.delete(name);
        terminal.err(gone ? `deleted: ${name}` : `There is no scope ${name}.`);
        return gone ? exitCodes.success : exitCodes.failed;
      }
      const passages = await all((after) => tenant.memory.passages(name, after));
      if (passages.length === 0) {
        terminal.err(`There is no scope ${name}.`);
        return exitCodes.failed;
      }
      if (values.json === true) terminal.out(jsonText({ name, items: passages, next: null }));
      const width = terminal.shown ? terminal.columns : Number.POSITIVE_INFINITY;
      if (values.json !== true) for (const { text } of passages) terminal.out(fitWidth(oneLine(text), width));
      return exitCodes.success;
    });
  },
};

type PageOf<Item> = { readonly items: readonly Item[]; readonly next: string | null };

async function all<Item>(
  read: (request: NonNullable<Parameters<TenantMemory["scopes"]>[0]>) => Promise<PageOf<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page: PageOf<Item> = await read({ limit: 200, ...(after === undefined ? {} : { after }) });
    items.push(...page.items);
    after = page.next;
  }
  return items;
}

function lineOf({ name, passages, characters, runs, lastAt }: MemoryScope): string {
  const counts = `${formatCount(passages)} passages  ${formatCount(characters)} characters  ${formatCount(runs)} runs`;
  return `${name}  ${counts}  last ${lastAt.toISOString().slice(0, 16).replace("T", " ")}`;
}
