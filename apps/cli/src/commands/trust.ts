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

Trust the .env file of a project. The command shows the settings of the file and
records, outside the folder, that you trust exactly this content. If the file
changes, Markmill asks again. It also trusts two other things:
  - the project state (.markmill) that you moved, copied or restored, because
    its database can run programs as you
  - the places in class.yaml from which Markmill may read repositories with your
    credentials (repositories.allow)

Without trust, Markmill ignores every setting of the .env: endpoint, key,
database and variables for workflows. Commands ask once on a terminal. In
continuous integration and containers, set MARKMILL_TRUST=1 in the environment.

  --revoke   stop trusting the project in DIR
  --list     list your decisions
  --json     print JSON

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
      if (named !== undefined || values.revoke === true)
        throw new UsageError("'--list' cannot be combined with other arguments.");
      return list(values.json === true, terminal);
    }
    if (values.json === true) throw new UsageError("'--json' needs '--list'.");
    const folder = resolve(terminal.cwd, named ?? ".");
    if (!existsSync(folder)) throw new UsageError(`Folder ${folder} not found.`);
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
      `${folder} has nothing that needs trust: no .env with settings of Markmill, no class.yaml with repositories.allow, and no project state.`,
    );
  for (const question of questions) {
    const { path } = question.subject;
    if (question.open) {
      terminal.err(`${path} was not trusted, because other users can change it.`);
      terminal.err(`fix: Let only your user write it: chmod 600 ${path}`);
      return exitCodes.failed;
    }
    if (question.decision === "trusted") {
      terminal.err(`already trusted: ${path}`);
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
