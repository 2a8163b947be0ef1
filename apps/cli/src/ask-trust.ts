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
      terminal.err(
        `  ${yes ? "Trusted" : "Refused"}. 'markmill trust --list' shows your decisions; 'markmill trust' changes them.`,
      );
  }
}

export function describeQuestion({ what, subject, shows }: TrustQuestion): readonly string[] {
  if (what === "home") {
    return [
      `You did not create ${subject.path} on this machine.`,
      "  Its database can run programs as you. Trust it only if you moved, copied or restored it yourself.",
    ];
  }
  if (what === "class file") {
    return [
      `${subject.path} reads students' repositories with your credentials, or from folders of this machine:`,
      ...shows.map((line) => `  ${line}`),
      "  Trust it only if you wrote it or know its author.",
    ];
  }
  return [
    `${subject.path} decides where keys, students' submissions and programs go:`,
    ...shows.map((line) => `  ${line}`),
    "  Trust it only if you wrote it or know its author.",
  ];
}

export function tellUnrecorded(path: string, terminal: Terminal): void {
  terminal.err(
    `note: Markmill could not record that ${path} is yours in ${folderOfRecords() ?? "your settings: HOME is not set"}.`,
  );
  terminal.err("note: make that folder writable, or set MARKMILL_TRUST=1 in the environment.");
}
