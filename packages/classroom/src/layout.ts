/**
 * How an export names whose work something is. Pure: from the names at its top to works, each with what the names say of the
 * student. Nothing is matched to a roster here.
 *
 * Canvas     NAME[_LATE]_USER_ATTACHMENT_FILE, or [LATE_]anon_ID_ATTACHMENT_FILE; a text entry ends with _text.html, a link with
 *            _link.html, both without an attachment. All files of one user, by number and name, are one work.
 * Moodle     NAME_NUMBER_assignsubmission_PLUGIN[_] is a folder, or a flat file with _FILE behind it. Some sites put a login before the
 *            name, so only the number and what follows it is relied on. All plugins of one number and name are one work.
 * Gradescope folders named by submission_metadata.yml, which says who handed in what, alone or together.
 * plain      a folder, an archive or loose files per student, by any name.
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
  /** By the platform's own mark. */
  readonly markedLate: boolean;
  readonly submittedAt: string | null;
  readonly attempt: number | null;
}

/** One thing at the export's top, and the path its content takes in the work; null: its content is the work's top. */
export interface Piece {
  readonly top: string;
  readonly as: string | null;
  /** Told with the work, where its name was changed. */
  readonly note?: string;
}

export type Says =
  | { readonly by: "canvas"; readonly user: string; readonly name: string }
  | { readonly by: "canvas-anonymous"; readonly user: string }
  | { readonly by: "moodle"; readonly number: string; readonly name: string }
  | { readonly by: "gradescope"; readonly submitters: readonly Submitter[] }
  | { readonly by: "name"; readonly name: string; readonly is: Top["is"] }
  | { readonly by: "pattern"; readonly student: string | null; readonly group: string | null }
  /** Members themselves, by their keys; a group's where there are several. */
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
  /** Works that the platform lists and the export does not have: who handed them in, by the name of the folder. */
  readonly missing?: ReadonlyMap<string, readonly string[]>;
}

export const METADATA = "submission_metadata.yml";

const canvasFile =
  /^(?<name>.*?)_(?<late>LATE_)?(?<user>\d+)_(?:(?<attachment>\d+)_(?<file>.+)|(?<entry>text|link)\.html)$/su;
const canvasAnonymous =
  /^(?<late>LATE_)?anon_(?<user>[A-Za-z0-9]+)_(?:(?<attachment>\d+)_(?<file>.+)|(?<entry>text|link)\.html)$/su;
/** A folder ends with its plugin. The last number counts: nobody can put another one before it by a name of their own. */
const moodleFolder = /^(?<name>.*)_(?<number>\d+)_assign(?:submission|feedback)_(?<plugin>[a-z]+)_?$/su;
const moodleName = /^(?<name>.*?)_(?<number>\d+)_assign(?:submission|feedback)_(?<plugin>[a-z]+)(?:_(?<file>.*))?$/su;

/** What systems leave behind: never anybody's work. */
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
    // A student may hand in two files of one name; the attachment's number tells them apart.
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

/** The number, which is one person's. Where it comes with several names, each name is a work of its own: nobody adds files to another's. */
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
    // Files are the work; what other plugins hold, such as an online text, stands in a folder of its name.
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

/** null: the file is not what Gradescope writes. */
export function sortGradescope(tops: readonly Top[], metadataText: string): Sorted | null {
  let raw: unknown;
  try {
    // Strings only: an id with leading zeros must keep them.
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
