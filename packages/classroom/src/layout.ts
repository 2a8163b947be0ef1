/**
 * Groups the names at the top of an export into submissions, each with the facts that its names contain about the student. Pure.
 * Submissions are not matched with a roster here.
 *
 * Canvas     NAME[_LATE]_USER_ATTACHMENT_FILE, or [LATE_]anon_ID_ATTACHMENT_FILE; a text entry ends with _text.html, a link with
 *            _link.html, both without an attachment. All files of one user, by number and name, are one submission.
 * Moodle     NAME_NUMBER_assignsubmission_PLUGIN[_] is a folder, or a flat file that continues with _FILE. Some sites put a login before
 *            the name, so only the number and the text after it are used. All plugins of one number and name are one submission.
 * Gradescope folders named by submission_metadata.yml, which lists who submitted what, alone or together.
 * plain      a folder, an archive or loose files per student, with any name.
 */
import { parse } from "yaml";
import { z } from "zod";

export interface Top {
  readonly name: string;
  readonly is: "file" | "folder";
}

export type Layout = "canvas" | "moodle" | "gradescope" | "plain";

export interface Work {
  /** Unique in the export. */
  readonly label: string;
  readonly pieces: readonly Piece[];
  /** Loose files of the same student beside a folder or an archive. */
  readonly beside?: readonly Piece[];
  readonly says: Says;
  /** The platform marked the submission as late. */
  readonly markedLate: boolean;
  readonly submittedAt: string | null;
  readonly attempt: number | null;
}

/**
 * One entry at the top of the export, and the path of its content in the submission. null: its content becomes the top of the submission.
 */
export interface Piece {
  readonly top: string;
  readonly as: string | null;
  /** Reported with the submission if its name was changed. */
  readonly note?: string;
}

export type Says =
  | { readonly by: "canvas"; readonly user: string; readonly name: string }
  | { readonly by: "canvas-anonymous"; readonly user: string }
  | { readonly by: "moodle"; readonly number: string; readonly name: string }
  | { readonly by: "gradescope"; readonly submitters: readonly Submitter[] }
  | { readonly by: "name"; readonly name: string; readonly is: Top["is"] }
  | { readonly by: "pattern"; readonly student: string | null; readonly group: string | null }
  /** The source names the students by their keys. With several students, `group` is their group. */
  | { readonly by: "keys"; readonly keys: readonly string[]; readonly group: string | null };

export interface Submitter {
  readonly name: string;
  readonly sid: string | null;
  readonly email: string | null;
}

export interface Sorted {
  readonly works: readonly Work[];
  /** Names that follow no rule of the layout. */
  readonly strays: readonly string[];
  /** Submissions that the platform lists but the export does not contain: the authors by folder name. */
  readonly missing?: ReadonlyMap<string, readonly string[]>;
}

export const METADATA = "submission_metadata.yml";

const canvasFile =
  /^(?<name>.*?)_(?<late>LATE_)?(?<user>\d+)_(?:(?<attachment>\d+)_(?<file>.+)|(?<entry>text|link)\.html)$/su;
const canvasAnonymous =
  /^(?<late>LATE_)?anon_(?<user>[A-Za-z0-9]+)_(?:(?<attachment>\d+)_(?<file>.+)|(?<entry>text|link)\.html)$/su;
/** A folder ends with its plugin. The last number counts, so that a student cannot insert another number through their own name. */
const moodleFolder = /^(?<name>.*)_(?<number>\d+)_assign(?:submission|feedback)_(?<plugin>[a-z]+)_?$/su;
const moodleName = /^(?<name>.*?)_(?<number>\d+)_assign(?:submission|feedback)_(?<plugin>[a-z]+)(?:_(?<file>.*))?$/su;

/** Files that operating systems leave behind. They never belong to a student. */
export function isJunk(name: string): boolean {
  return /^(?:__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini)$/i.test(name) || name.startsWith("._");
}

export function detectLayout(tops: readonly Top[]): Layout {
  if (tops.some(({ name, is }) => is === "file" && name === METADATA)) return "gradescope";
  const share = (test: (top: Top) => boolean) => tops.filter(test).length * 2 > tops.length;
  if (share(({ name }) => moodleName.test(name))) return "moodle";
  return share(({ name, is }) => is === "file" && (canvasFile.test(name) || canvasAnonymous.test(name)))
    ? "canvas"
    : "plain";
}

export function sortCanvas(tops: readonly Top[]): Sorted {
  const works = new Map<string, Work>();
  const strays: string[] = [];
  for (const { name, is } of tops) {
    const anonymous = canvasAnonymous.exec(name)?.groups;
    const parts = anonymous ?? canvasFile.exec(name)?.groups;
    if (is === "folder" || parts === undefined) {
      strays.push(name);
      continue;
    }
    const { user = "", file, entry, attachment = "" } = parts;
    const says: Says =
      anonymous === undefined ? { by: "canvas", user, name: parts.name ?? "" } : { by: "canvas-anonymous", user };
    const number = anonymous === undefined ? user : `anon_${user}`;
    const label = labelOf(works, number, says);
    const before = works.get(label);
    const wanted = file ?? `${entry}.html`;
    // A student can submit two files with the same name. The attachment number distinguishes them.
    const as = before?.pieces.some((piece) => piece.as === wanted) ? `${attachment}_${wanted}` : wanted;
    works.set(label, {
      label,
      says,
      pieces: [...(before?.pieces ?? []), { top: name, as }],
      markedLate: parts.late !== undefined || before?.markedLate === true,
      submittedAt: null,
      attempt: null,
    });
  }
  return { works: [...works.values()], strays };
}

/**
 * The number belongs to one person. If it occurs with several names, each name is a separate submission, so that no student can add files
 * to another's.
 */
function labelOf(works: ReadonlyMap<string, Work>, number: string, says: Says): string {
  const known = works.get(number)?.says;
  if (known === undefined || !("name" in says) || !("name" in known) || known.name === says.name) return number;
  return `${number} (${says.name})`;
}

export function sortMoodle(tops: readonly Top[]): Sorted {
  const works = new Map<string, Work>();
  const strays: string[] = [];
  for (const { name, is } of tops) {
    const parts = (is === "folder" ? moodleFolder : moodleName).exec(name)?.groups;
    const { number = "", plugin = "", file = "" } = parts ?? {};
    if (parts === undefined || (is === "file" && file === "")) {
      strays.push(name);
      continue;
    }
    const says: Says = { by: "moodle", number, name: (parts.name ?? "").replaceAll("_", " ").trim() };
    const label = labelOf(works, number, says);
    const before = works.get(label);
    // The plugin "file" holds the submission itself. The content of other plugins, such as an online text, goes to a folder with the
    // plugin's name.
    const main = plugin === "file";
    const as = is === "folder" ? (main ? null : plugin) : main ? file : `${plugin}/${file}`;
    works.set(label, {
      label,
      says,
      pieces: [...(before?.pieces ?? []), { top: name, as }],
      markedLate: false,
      submittedAt: null,
      attempt: null,
    });
  }
  return { works: [...works.values()], strays };
}

const text = z.union([z.string(), z.number()]).nullish();
const submitter = z.looseObject({ ":name": text, ":sid": text, ":email": text });
const metadata = z.record(
  z.string(),
  z.looseObject({ ":submitters": z.array(submitter).nullish(), ":created_at": text }),
);

/** Returns null if the file does not have Gradescope's format. */
export function sortGradescope(tops: readonly Top[], metadataText: string): Sorted | null {
  let raw: unknown;
  try {
    // Strings only: an id must keep its leading zeros.
    raw = parse(metadataText, { schema: "failsafe", maxAliasCount: 50, uniqueKeys: true });
  } catch {
    return null;
  }
  const read = metadata.safeParse(raw);
  if (!read.success) return null;
  const works: Work[] = [];
  const folders = new Set(tops.filter(({ name }) => name !== METADATA).map(({ name }) => name));
  const missing = new Map<string, readonly string[]>();
  for (const [folder, of] of Object.entries(read.data)) {
    const submitters = (of[":submitters"] ?? []).map((one) => ({
      name: words(one[":name"]) ?? "",
      sid: words(one[":sid"]),
      email: words(one[":email"]),
    }));
    if (!folders.delete(folder)) {
      missing.set(
        folder,
        submitters.map(({ name, email, sid }) => name || email || sid || "somebody"),
      );
      continue;
    }
    works.push({
      label: folder,
      says: { by: "gradescope", submitters },
      pieces: [{ top: folder, as: null }],
      markedLate: false,
      submittedAt: words(of[":created_at"]),
      attempt: null,
    });
  }
  return { works, strays: [...folders], missing };
}

function words(value: string | number | null | undefined): string | null {
  const found = String(value ?? "").trim();
  return found === "" || found === "null" || found === "~" ? null : found;
}

export function sortPlain(tops: readonly Top[], match?: RegExp): Sorted {
  const strays: string[] = [];
  const works: Work[] = [];
  for (const { name, is } of tops) {
    const common = { label: name, pieces: [{ top: name, as: is === "folder" ? null : name }], markedLate: false };
    if (match === undefined) {
      works.push({ ...common, says: { by: "name", name, is }, submittedAt: null, attempt: null });
      continue;
    }
    const groups = match.exec(name)?.groups;
    const { student = null, group = null, attempt, time, file } = groups ?? {};
    if (student === null && group === null) {
      strays.push(name);
      continue;
    }
    works.push({
      ...common,
      ...(is === "file" && file !== undefined ? { pieces: [{ top: name, as: file }] } : {}),
      says: { by: "pattern", student, group },
      submittedAt: time ?? null,
      attempt: attempt !== undefined && /^\d{1,9}$/.test(attempt) ? Number(attempt) : null,
    });
  }
  return { works, strays };
}
