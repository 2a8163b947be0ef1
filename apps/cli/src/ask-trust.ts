/**
 * Asks once about a folder whose author may be a stranger, before the command starts.
 *
 * A1  Without a terminal there is no question: the settings are left out, or the home is refused, and the message names 'markmill trust'.
 * A2  An answer about a `.env` is recorded and not requested again until the file changes. After a "no" about a home, the next command asks
 *     again: no command works next to that home.
 */
import { folderOfRecords, openQuestions, recordDecision, type TrustQuestion } from "@markmill/config";
import type { Terminal } from "./command.ts";

export async function askTrust(args: readonly string[], terminal: Terminal): Promise<void> {
  // Files inside a submission are never trusted.
  if (terminal.ask === undefined || args.some((word) => /^--submission(=|$)/.test(word))) return;
  const leftOut = args.includes("--no-env-file");
  for (const question of openQuestions(terminal.cwd)) {
    if (leftOut && question.what === "env file") continue;
    for (const line of describeQuestion(question)) terminal.err(line);
    const answer = await terminal.ask("Trust it? [y/N] ");
    const yes = /^(y|yes|j|ja)$/i.test(answer.trim());
    if (question.what === "home" && !yes) continue;
    if (!recordDecision(question.subject, yes ? "trusted" : "refused")) tellUnrecorded(question.subject.path, terminal);
    else
      terminal.err(`  ${yes ? "Trusted" : "Refused"}; 'markmill trust --list' shows it, 'markmill trust' changes it.`);
  }
}

export function describeQuestion({ what, subject, shows }: TrustQuestion): readonly string[] {
  if (what === "home") {
    return [
      `${subject.path} was not made by you on this machine.`,
      "  Its database can run programs as you. Trust it only if it is yours: moved, copied or restored.",
    ];
  }
  if (what === "class file") {
    return [
      `${subject.path} names places at which students' repositories are read with your credentials, or folders of this machine:`,
      ...shows.map((line) => `  ${line}`),
      "  Trust it only if you wrote it, or know who did.",
    ];
  }
  return [
    `${subject.path} sets where keys, students' work and programs go:`,
    ...shows.map((line) => `  ${line}`),
    "  Trust it only if you wrote it, or know who did.",
  ];
}

export function tellUnrecorded(path: string, terminal: Terminal): void {
  terminal.err(
    `note: that ${path} is yours could not be recorded in ${folderOfRecords() ?? "your settings: HOME is not set"}.`,
  );
  terminal.err("note: make that folder writable, or set MARKMILL_TRUST=1 in the environment.");
}
