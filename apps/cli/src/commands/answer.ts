import { userInfo } from "node:os";
import { text as readAll } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { livingWorkers } from "@markmill/stack";
import type { Ask } from "@markmill/store";
import { type Command, CommandError, exitCodes, UsageError } from "../command.ts";
import { findRun } from "../find-run.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const answer: Command = {
  help: `Usage: markmill answer RUN [ASK] TEXT…
       markmill answer RUN [ASK] -
       markmill answer RUN

Answer a question from a run, or from a run that it called. With '-', the answer
is read from stdin. Without TEXT, the open questions are listed. If several
questions are open, ASK is the number of the one you answer. If only one is
open, all words are the answer.

Examples:
  markmill answer last
  markmill answer last yes, give her the point
  markmill answer last 17 - < feedback.md`,

  async run(args, terminal) {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
    const [wanted, ...words] = positionals;
    if (wanted === undefined) throw new UsageError("Name the run that asks the question.");
    const input = words.at(-1) === "-" ? (await readAll(process.stdin)).replace(/\r?\n$/, "") : null;
    return await withStack(terminal, async (stack) => {
      const run = await findRun(stack.tenant, wanted);
      const asks = await stack.tenant.asks.list(run.rootId);
      if (words.length === 0) {
        for (const ask of asks) terminal.out(describe(ask));
        if (asks.length === 0) terminal.err(`${run.id} has no open question (status: ${run.status}).`);
        return asks.length === 0 ? exitCodes.failed : exitCodes.success;
      }
      const { ask, rest } = choose(asks, words, run);
      const committed = await stack.tenant.asks.answer(ask.activityId, input ?? rest.join(" "), whoAmI());
      await stack.queues.enqueue(committed.jobs);
      if (committed.kind === "dropped") {
        throw new CommandError(
          "ASK_CLOSED",
          "The question was already answered, or it expired.",
          "'markmill status RUN' shows its state.",
        );
      }
      terminal.err(`answered: ${ask.node} of ${run.rootId}`);
      if ((await livingWorkers(stack.store)) === 0) {
        terminal.err(`next: markmill watch ${shortId(run.rootId)}   continue it; no worker is running`);
      }
      return exitCodes.success;
    });
  },
};

function choose(
  asks: readonly Ask[],
  words: readonly string[],
  run: { readonly id: string; readonly status: string },
): { readonly ask: Ask; readonly rest: readonly string[] } {
  const [only, ...more] = asks;
  if (only === undefined) {
    const message = `${run.id} has no open question (status: ${run.status}).`;
    throw new CommandError("ASK_NOT_FOUND", message, `'markmill status ${run.id}' shows its state.`);
  }
  if (more.length === 0) return { ask: only, rest: words };
  const [first, ...rest] = words;
  const named = asks.find(({ activityId }) => String(activityId) === first);
  if (named !== undefined && rest.length > 0) return { ask: named, rest };
  throw new UsageError(
    `${run.id} has several open questions. Put the number of one before the text:\n${asks.map(describe).join("\n")}`,
  );
}

function describe({ activityId, node, question, text }: Ask): string {
  const both = [question, text]
    .filter((part) => part.trim() !== "")
    .map(oneLine)
    .join(" | ");
  return `${activityId}  ${node}  ${fitWidth(both, 160)}`;
}

function whoAmI(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
