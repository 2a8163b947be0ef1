/**
 * Records where the results and exports of a class were written on this machine, so that a later command can update them. If all records
 * are lost, the folder stored with the class remains (`out` of its facts).
 *
 * R1  Every entry is a separate file below the home of the project. Two parallel commands change different files, so neither loses an entry
 *     of the other.
 * R2  The options for a folder, and what was written there, are two entries: a command that writes results changes only the second.
 * R3  An entry is replaced as a whole, and removed only if it is the one that the command has read.
 * R4  An entry that cannot be saved is kept in memory for this command, and the caller is notified once.
 *
 * On kill -9 each entry is either the old or the new one.
 */
import { createHash, randomUUID } from "node:crypto";
import { link, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { claimHome } from "@markmill/config";
import { z } from "zod";
import { put } from "./put-file.ts";

export const paperKinds = ["md", "html", "pdf"] as const;

const manner = z.object({
  /** Absolute. */
  out: z.string(),
  /** Formats of the students' reports. */
  kinds: z.array(z.enum(paperKinds)),
  /** Reports of unreleased grades are written too, and marked as drafts. */
  draft: z.boolean(),
});

const written = z.object({
  out: z.string(),
  /** Hash of the data behind the teacher's files. */
  sheet: z.string(),
  /** By student key: the hash of the data behind the report. */
  students: z.record(z.string(), z.string()),
});

const exported = z.object({
  /** Absolute. */
  file: z.string(),
  draft: z.boolean(),
  /** Hash of the grades that the export was made from. */
  sheet: z.string(),
});

export type ResultsManner = z.infer<typeof manner>;
export type WrittenState = Omit<z.infer<typeof written>, "out">;
export type ExportEntry = z.infer<typeof exported>;
export interface ResultsPlace extends ResultsManner {
  /** null: it is unknown which results were written there. */
  readonly written: WrittenState | null;
}

export class ResultsRegister {
  readonly #home: string;
  readonly #folder: string;
  readonly #onTrouble: (error: unknown) => void;
  /** R4: text by file name. null: the file was removed. */
  readonly #unsaved = new Map<string, string | null>();

  constructor(home: string, batchId: string, onTrouble: (error: unknown) => void) {
    this.#home = home;
    this.#folder = join(home, "results", batchId);
    this.#onTrouble = onTrouble;
  }

  async places(): Promise<readonly ResultsPlace[]> {
    const states = await this.#all("written", written);
    const stateOf = new Map(states.map(({ out, ...state }) => [out, state]));
    const manners = await this.#all("folder", manner);
    return manners.map((one) => ({ ...one, written: stateOf.get(one.out) ?? null }));
  }

  async exports(): Promise<readonly ExportEntry[]> {
    return await this.#all("export", exported);
  }

  async rememberPlace(place: ResultsManner): Promise<void> {
    await this.#save(nameOf("folder", place.out), place);
  }

  async rememberWritten(out: string, state: WrittenState): Promise<void> {
    await this.#save(nameOf("written", out), { out, ...state });
  }

  async forgetPlace(out: string): Promise<void> {
    for (const kind of ["folder", "written"] as const) await this.#remove(nameOf(kind, out), null);
  }

  async rememberExport(entry: ExportEntry): Promise<void> {
    await this.#save(nameOf("export", entry.file), entry);
  }

  /** See R3 in the file header. */
  async forgetExport(entry: ExportEntry): Promise<void> {
    await this.#remove(nameOf("export", entry.file), textOf(exported.parse(entry)));
  }

  async #all<Entry>(kind: EntryKind, schema: z.ZodType<Entry>): Promise<readonly Entry[]> {
    const saved = await readdir(this.#folder).catch(() => []);
    const names = [...new Set([...saved, ...this.#unsaved.keys()])].sort();
    const texts = await Promise.all(
      names
        .filter((name) => name.startsWith(`${kind}-`) && name.endsWith(".json"))
        .map(async (name) => {
          const unsaved = this.#unsaved.get(name);
          return unsaved === undefined ? await readFile(join(this.#folder, name), "utf8").catch(() => "") : unsaved;
        }),
    );
    return texts.flatMap((text) => {
      const read = schema.safeParse(parsed(text ?? ""));
      return read.success ? [read.data] : [];
    });
  }

  async #save(name: string, entry: object): Promise<void> {
    const text = textOf(entry);
    try {
      claimHome(this.#home);
      await put(join(this.#folder, name), text);
      this.#unsaved.delete(name);
    } catch (error) {
      this.#unsaved.set(name, text);
      this.#onTrouble(error);
    }
  }

  /**
   * `seen`: the text that the entry must have; null: any. The file is moved away first, so that it cannot be replaced between the check and
   * the removal.
   */
  async #remove(name: string, seen: string | null): Promise<void> {
    const file = join(this.#folder, name);
    const away = `${file}.${randomUUID().slice(0, 8)}.part`;
    try {
      await rename(file, away);
      if (seen !== null && (await readFile(away, "utf8")) !== seen) await link(away, file).catch(() => undefined);
      await rm(away, { force: true });
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === "ENOENT") return;
      this.#unsaved.set(name, null);
      this.#onTrouble(error);
    }
  }
}

type EntryKind = "folder" | "written" | "export";

function nameOf(kind: EntryKind, path: string): string {
  return `${kind}-${createHash("sha256").update(path).digest("hex").slice(0, 24)}.json`;
}

function textOf(entry: object): string {
  return `${JSON.stringify(entry)}\n`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
