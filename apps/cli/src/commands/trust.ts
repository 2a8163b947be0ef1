import { existsSync, realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import {
  findProject,
  forgetDecision,
  listDecisions,
  recordDecision,
  type TrustQuestion,
  trustQuestions,
} from "@markmill/config";
import { describeQuestion, tellUnrecorded } from "../ask-trust.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "../command.ts";
import { jsonText } from "../json-text.ts";

export const trust: Command = {
  help: `Usage: markmill trust [DIR] [--revoke]
       markmill trust --list [--json]

Lets the .env of a project count: shows what it sets, and records outside the
folder that you trust exactly this content. A change of the file asks again. The
state of a project (.markmill) that you moved, copied or restored is trusted
too: its database can run programs as you. So are the places in class.yaml at
which repositories may be read with your credentials (repositories.allow).

Without trust nothing of a .env counts: no endpoint, no key, no database, no
variable for workflows. Commands ask once on a terminal. In continuous
integration and containers set MARKMILL_TRUST=1 in the environment.

  --revoke   take back the trust in the project of DIR
  --list     list what you decided
  --json     as JSON

Examples:
  markmill trust
  markmill trust ~/courses/algebra
  markmill trust --list
  markmill trust ~/courses/algebra --revoke`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { list: { type: "boolean" }, revoke: { type: "boolean" }, json: { type: "boolean" } },
    });
    const [named, ...more] = positionals;
    if (more.length > 0) throw new UsageError("'markmill trust' takes one folder.");
    if (values.list === true) {
      if (named !== undefined || values.revoke === true) throw new UsageError("'--list' stands alone.");
      return list(values.json === true, terminal);
    }
    if (values.json === true) throw new UsageError("'--json' is of '--list'.");
    const folder = resolve(terminal.cwd, named ?? ".");
    if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder}.`);
    return values.revoke === true ? revoke(folder, terminal) : accept(folder, trustQuestions(folder), terminal);
  },
};

function list(json: boolean, terminal: Terminal): number {
  const items = listDecisions();
  if (json) terminal.out(jsonText({ items, next: null }));
  else if (items.length === 0) terminal.err("Nothing is recorded.");
  else
    for (const { path, decision, decidedAt } of items) terminal.out(`${decision}  ${decidedAt.slice(0, 10)}  ${path}`);
  return exitCodes.success;
}

/** The arguments are the answer, so there is no question. */
function accept(folder: string, questions: readonly TrustQuestion[], terminal: Terminal): number {
  if (questions.length === 0)
    terminal.err(
      `${folder} has no .env with settings of Markmill, no class.yaml that allows places of repositories, and no state: nothing needs trust.`,
    );
  for (const question of questions) {
    const { path } = question.subject;
    if (question.open) {
      terminal.err(`${path} can be written by others: trust in it would not last.`);
      terminal.err(`fix: Make it yours alone: chmod 600 ${path}`);
      return exitCodes.failed;
    }
    if (question.decision === "trusted") {
      terminal.err(`trusted already: ${path}`);
      continue;
    }
    for (const line of describeQuestion(question)) terminal.err(line);
    if (!recordDecision(question.subject, "trusted")) {
      tellUnrecorded(path, terminal);
      return exitCodes.failed;
    }
    terminal.err(`trusted: ${path}`);
  }
  return exitCodes.success;
}

/** Revokes everything that 'markmill trust' accepts for this folder and its content, including files that changed or were deleted since. */
function revoke(folder: string, terminal: Terminal): number {
  const inside = `${realpathSync(findProject(folder))}${sep}`;
  const accepted = new Set(trustQuestions(folder).map(({ subject }) => subject.path));
  const revoked = listDecisions().filter(
    ({ path }) => (path.startsWith(inside) || accepted.has(path)) && forgetDecision(path),
  );
  for (const { path } of revoked) terminal.err(`no longer trusted: ${path}`);
  if (revoked.length === 0) terminal.err(`nothing is recorded about ${folder}`);
  return exitCodes.success;
}
