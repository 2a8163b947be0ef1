/**
 * Lists the files of a folder that need the user's trust decision, and the text that shows them. A person decides by the effect of a file:
 * addresses and names of variables are shown, keys are named but not shown.
 */
import { join, resolve } from "node:path";
import { classFileWithPlaces } from "./class-file-trust.ts";
import { isWrittenByOthers, loadEnvFile, settingsIn } from "./env-file.ts";
import { secretNames } from "./environment.ts";
import { findProject, processHome } from "./find-project.ts";
import { homeSubject, isForeignHome } from "./project-home.ts";
import { redactText, redactUrl } from "./redact-config.ts";
import { trustsEverything } from "./trust-everything.ts";
import { decisionOn, type TrustRecord, type TrustSubject } from "./trust-records.ts";

export interface TrustQuestion {
  readonly what: "env file" | "class file" | "home";
  readonly subject: TrustSubject;
  /** One line each, for a person. */
  readonly shows: readonly string[];
  readonly decision: TrustRecord["decision"] | null;
  /** Another user can write it, so it does not count, even if this user trusts it. */
  readonly open: boolean;
}

const longestValue = 160;

/** Everything in the project of `cwd` that counts only with trust, decided or not. */
export function trustQuestions(cwd: string): readonly TrustQuestion[] {
  const project = findProject(cwd);
  const file = loadEnvFile(join(project, ".env"));
  const named = file.is === "loaded" ? file.values.MARKMILL_HOME : undefined;
  const home = resolve(project, process.env.MARKMILL_HOME || named || processHome());
  const subject = homeSubject(home);
  return [
    ...(file.is === "loaded" && settingsIn(file.values).length > 0
      ? [{ ...question("env file", file.subject, showEnvFile(file.values)), open: isWrittenByOthers(file.stat) }]
      : []),
    ...classFiles(project, cwd),
    ...(subject === null ? [] : [question("home", subject, [])]),
  ];
}

/** The questions to ask before a command starts. */
export function openQuestions(cwd: string): readonly TrustQuestion[] {
  if (trustsEverything()) return [];
  return trustQuestions(cwd).filter(
    ({ what, subject, decision, open }) => decision === null && (what === "home" ? isForeignHome(subject.path) : !open),
  );
}

/** The class files of the project and of the folder itself: a project may have many classes. */
function classFiles(project: string, cwd: string): TrustQuestion[] {
  const found = new Map<string, TrustQuestion>();
  for (const folder of [project, cwd]) {
    const file = classFileWithPlaces(join(folder, "class.yaml"));
    if (file === null) continue;
    const { subject, shows, stat } = file;
    found.set(subject.path, { ...question("class file", subject, shows), open: isWrittenByOthers(stat) });
  }
  return [...found.values()];
}

function question(what: TrustQuestion["what"], subject: TrustSubject, shows: readonly string[]): TrustQuestion {
  return { what, subject, shows, decision: decisionOn(subject), open: false };
}

function showEnvFile(values: Readonly<Record<string, string>>): string[] {
  const settings = settingsIn(values);
  const others = Object.keys(values).filter((name) => !settings.includes(name));
  const lines = settings.map((name) => {
    const value = (values[name] ?? "").replace(/\s/g, " ");
    const cut = value.length > longestValue ? `${value.slice(0, longestValue)}…` : value;
    if (!secretNames.has(name)) return `${name}=${redactText(cut, null)}`;
    return name.endsWith("_URL") ? `${name}=${redactUrl(value)}` : `${name} (a secret, not shown)`;
  });
  return others.length === 0 ? lines : [...lines, `other names: ${others.join(", ")}`];
}
