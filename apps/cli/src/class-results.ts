/**
 * Keeps the results of a class on disk as current as its grades: class report, grades, students' reports, exports.
 *
 * C1  A command that changes grades first writes a note OUT-OF-DATE.txt beside the results, then changes the grades, then writes the
 *     results again, then removes the note.
 * C2  Only files whose content changed are written again. If the note was already there, an earlier command was killed, and all files are
 *     written.
 * C3  If the grades changed while results were written, the results are written once more. The comparison then uses the files that this
 *     command wrote, not what another command recorded about the same folder: either of the two may have written a file last.
 * C4  An export that differs from the grades is renamed to stale-NAME: it cannot be repeated here, because only the teacher has the
 *     platform's file.
 * C5  Files that cannot be written are named, and the exit code reports it.
 * C6  A command removes only the note that it wrote or found. If another command has since written its own note, that command removes it.
 *
 * On kill -9 before the grades changed, or between any two files, the note stays. Every later command that shows or changes the class finds
 * the note, or finds that the recorded hash differs, and writes the results again.
 */
import { createHash, randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { GradeSheet } from "@markmill/classroom/gradebook";
import type { Config } from "@markmill/config";
import { describeError, type Stack } from "@markmill/stack";
import { countOf } from "./amounts.ts";
import { readClassFacts } from "./class-facts.ts";
import { fingerprintOf, type Papers, type ReadClass, readBatchClass, writePapers } from "./class-papers.ts";
import { exitCodes, type Terminal } from "./command.ts";
import { draftSheet } from "./draft-sheet.ts";
import { isThere, put, setAside } from "./put-file.ts";
import { releasedSheet } from "./released-sheet.ts";
import {
  type ExportEntry,
  paperKinds,
  type ResultsManner,
  type ResultsPlace,
  ResultsRegister,
  type WrittenState,
} from "./results-register.ts";
import { shortId } from "./short-id.ts";

const OUT_OF_DATE = "OUT-OF-DATE.txt";

/** How often a class is read again because it changed meanwhile (C3). */
const MOST_ROUNDS = 3;

const MOST_TOLD = 5;

interface WriteManner {
  /** Default: true. */
  readonly tellWritten?: boolean;
  /** A folder in which all files are written, also unchanged ones. Default: none. */
  readonly whole?: string | null;
  /** false: rows left out of the files are named only if a file changed, and do not change the exit code. Default: true. */
  readonly tellLeftOut?: boolean;
}

interface ResultsAt {
  /** Absolute path of the project's home. */
  readonly home: string;
  readonly terminal: Terminal;
}

export class ClassResults {
  readonly #stack: Stack;
  readonly #batchId: string;
  readonly #at: ResultsAt;
  readonly #register: ResultsRegister;
  /** Notes by folder. `before`: there was already a note. `text`: the text of the note that this command wrote or found; null: none. */
  readonly #notes = new Map<string, { readonly before: boolean; readonly text: string | null }>();
  readonly #noteText: string;
  #failed = false;
  #incomplete = false;

  constructor(stack: Stack, batchId: string, at: ResultsAt) {
    this.#stack = stack;
    this.#batchId = batchId;
    this.#at = at;
    this.#noteText = noteText(batchId);
    this.#register = new ResultsRegister(at.home, batchId, (error) => {
      if (!this.#failed)
        at.terminal.err(`! the place of the results could not be recorded: ${describeError(error).message}`);
      this.#failed = true;
    });
  }

  /** Records a folder and how results are written there. Replaces an earlier entry of the same folder. */
  async remember(place: ResultsManner): Promise<void> {
    await this.#register.rememberPlace(place);
  }

  /** Announces that results will be written into this folder, with its recorded options or else without drafts. */
  async expect(out: string): Promise<void> {
    const places = await this.#register.places();
    if (!places.some((place) => place.out === out)) await this.remember({ out, kinds: [...paperKinds], draft: false });
  }

  /** How results are written into a folder. null: none are written there. */
  async placeAt(out: string): Promise<ResultsPlace | null> {
    return (await this.#places()).find((place) => place.out === out) ?? null;
  }

  /**
   * C4: `write` writes the files. They are recorded as outdated first: if the command is killed before it has written all of them, the next
   * command renames the existing ones. A parallel command may also rename them; then they are written once more.
   */
  async exporting(exports: readonly ExportEntry[], write: () => Promise<void>): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      for (const one of exports) await this.#register.rememberExport({ ...one, sheet: "" });
      await write();
      for (const one of exports) await this.#register.rememberExport(one);
      const there = await Promise.all(exports.map(({ file }) => isThere(file)));
      if (there.every(Boolean)) return;
    }
  }

  /** C1: `act` changes grades. Results are written again even if it fails, because it may have changed some grades. */
  async during<Result>(act: () => Promise<Result>): Promise<Result> {
    await this.note();
    try {
      return await act();
    } finally {
      await this.write();
      await this.#tellElsewhere();
    }
  }

  /** C5: reports results that another machine wrote. */
  async #tellElsewhere(): Promise<void> {
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    const { out } = readClassFacts(batch?.settings.facts);
    if (out === null || (await this.#places()).some((place) => place.out === out)) return;
    if (this.#failed) return;
    this.#fail(`! the results in ${out} are out of date: this machine cannot find them`);
  }

  /** C1: from now on the files may be outdated. */
  async note(): Promise<void> {
    for (const { out } of await this.#places()) {
      if (!(await isThere(out))) continue;
      // A folder that cannot be written is reported when the results are written.
      await this.#putNote(out).catch(() => undefined);
    }
  }

  async #putNote(out: string): Promise<void> {
    const { before } = await this.#noteIn(out);
    await put(join(out, OUT_OF_DATE), this.#noteText);
    this.#notes.set(out, { before, text: this.#noteText });
  }

  /** The note of another command stays: that command may not have written the results yet (C6). */
  async #ensureNote(out: string): Promise<void> {
    if (!(await isThere(join(out, OUT_OF_DATE)))) await this.#putNote(out);
  }

  async #noteIn(out: string): Promise<{ readonly before: boolean; readonly text: string | null }> {
    const known = this.#notes.get(out);
    if (known !== undefined) return known;
    const text = await readFile(join(out, OUT_OF_DATE), "utf8").catch(() => null);
    const found = { before: text !== null, text };
    this.#notes.set(out, found);
    return found;
  }

  /** See C6 in the file header. */
  async #removeNote(out: string): Promise<void> {
    const { text } = await this.#noteIn(out);
    const file = join(out, OUT_OF_DATE);
    const now = await readFile(file, "utf8").catch(() => null);
    if (now !== null && now === text) await rm(file, { force: true });
    this.#notes.delete(out);
  }

  /** Updates all recorded folders. Reports only files that were written or could not be written. */
  async write({
    tellWritten = true,
    whole = null,
    tellLeftOut = true,
  }: WriteManner = {}): Promise<ReadonlyMap<string, Papers>> {
    if (whole !== null) this.#notes.set(whole, { ...(await this.#noteIn(whole)), before: true });
    const papers = new Map<string, Papers>();
    const own = new Map<string, WrittenState>();
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const read = await this.#read();
      if (read === null) return papers;
      for (const known of await this.#places()) {
        const place = { ...known, written: own.get(known.out) ?? known.written };
        const made = await this.#writePlace(read, place, { tellWritten, tellLeftOut });
        if (made === null) continue;
        papers.set(place.out, made.papers);
        own.set(place.out, made.state);
      }
      await this.#setExportsAside(read);
      const now = await this.#read();
      if (now === null || fingerprintOf(now) === fingerprintOf(read)) break;
    }
    return papers;
  }

  /** Used by commands that only show the class: an earlier command may have been killed, or grades were changed elsewhere. */
  async repair(): Promise<void> {
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    if (batch === null || batch.counts.waiting + batch.counts.running > 0) return;
    await this.write({ tellLeftOut: false });
  }

  /** C5: the exit code of a command that otherwise ends with `code`. */
  code(code: number): number {
    if (code !== exitCodes.success && code !== exitCodes.someNotGraded) return code;
    if (this.#failed) return exitCodes.outOfDate;
    return this.#incomplete ? exitCodes.someNotGraded : code;
  }

  async #writePlace(
    read: ReadClass,
    place: ResultsPlace,
    { tellWritten, tellLeftOut }: Required<Pick<WriteManner, "tellWritten" | "tellLeftOut">>,
  ): Promise<{ readonly papers: Papers; readonly state: WrittenState } | null> {
    const { terminal } = this.#at;
    const { out } = place;
    if (place.written !== null && !(await isThere(out))) {
      this.#fail(`! the results in ${out} no longer exist and were not updated; any copy of them is out of date`);
      await this.#register.forgetPlace(out);
      return null;
    }
    try {
      const { before: whole } = await this.#noteIn(out);
      const now = this.#stack.store.clock.now();
      const written = await writePapers(read, place, { now, whole, note: () => this.#ensureNote(out) });
      const { leftOut } = written.papers;
      if (tellLeftOut || written.changed > 0) for (const message of leftOut) terminal.err(`! ${message}`);
      if (tellLeftOut && leftOut.length > 0) this.#incomplete = true;
      await this.#register.rememberWritten(out, written.state);
      await this.#removeNote(out);
      if (tellWritten && written.changed > 0) terminal.err(`results updated: ${out}`);
      return written;
    } catch (error) {
      this.#fail(`! the results in ${out} are out of date: ${describeError(error).message}`);
      return null;
    }
  }

  /** See C4 in the file header. */
  async #setExportsAside(read: ReadClass): Promise<void> {
    const exports = await this.#register.exports();
    if (exports.length === 0) return;
    const hashes = { draft: sheetHash(draftSheet(read.sheet)), released: sheetHash(releasedSheet(read).sheet) };
    const old = exports.filter(({ draft, sheet }) => sheet !== (draft ? hashes.draft : hashes.released));
    if (old.length === 0) return;
    const renamed: string[] = [];
    for (const entry of old) {
      const { file } = entry;
      try {
        const stale = await setAside(file);
        if (stale !== null) renamed.push(stale);
      } catch (error) {
        this.#fail(`! ${file} is out of date and could not be renamed: ${describeError(error).message}`);
      }
      await this.#register.forgetExport(entry);
    }
    if (renamed.length === 0) return;
    this.#at.terminal.err(`! ${countOf(renamed.length, "export")} out of date and renamed:`);
    for (const file of renamed.slice(0, MOST_TOLD)) this.#at.terminal.err(`    ${file}`);
    if (renamed.length > MOST_TOLD) this.#at.terminal.err(`    and ${renamed.length - MOST_TOLD} more`);
    this.#at.terminal.err(`next: markmill export ${shortId(this.#batchId)} --to …   export the grades again`);
  }

  #fail(message: string): void {
    this.#failed = true;
    this.#at.terminal.err(message);
    this.#at.terminal.err(`next: markmill report ${shortId(this.#batchId)} --out DIR   write the results again`);
  }

  /** The recorded folders, and the one stored with the class: results may have been written before the register existed. */
  async #places(): Promise<readonly ResultsPlace[]> {
    const places = await this.#register.places();
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    const { out, table } = readClassFacts(batch?.settings.facts);
    if (table !== null) return [];
    if (out === null || places.some((place) => place.out === out)) return places;
    if (await isThere(join(out, "class-report.html"))) {
      return [...places, { out, kinds: [...paperKinds], draft: false, written: null }];
    }
    return places;
  }

  async #read(): Promise<ReadClass | null> {
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    return batch === null ? null : await readBatchClass(this.#stack, batch);
  }
}

/** The results of a class on this machine. */
export function resultsOf(
  stack: Stack,
  { home }: Pick<Config, "home">,
  { id }: { readonly id: string },
  terminal: Terminal,
): ClassResults {
  return new ClassResults(stack, id, { home: resolve(terminal.cwd, home), terminal });
}

/** The hash of the grades that an export was made from. */
export function sheetHash(sheet: GradeSheet): string {
  return createHash("sha256").update(JSON.stringify(sheet)).digest("hex");
}

/** The number distinguishes the notes of two commands (C6). */
function noteText(batchId: string): string {
  return `The files in this folder may be older than the grades of the class.\nTo update them and remove this note, run 'markmill report ${shortId(batchId)}'.\nNote ${randomUUID().slice(0, 8)}.\n`;
}
