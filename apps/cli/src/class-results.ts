/**
 * Keeps the results of a class on disk as current as its grades: class report, grades, students' reports, exports.
 *
 * C1  A command that changes grades puts a note OUT-OF-DATE.txt beside the results first, then changes the grades, then writes the results
 *     again, then removes the note.
 * C2  Only files whose content changed are written again. If the note was there before, an earlier command was killed: all are.
 * C3  If the grades changed while results were written, they are written once more.
 * C4  An export that no longer says what the grades are is renamed to stale-NAME: only the teacher has the platform's file.
 * C5  What cannot be written is named, and the exit code says so.
 *
 * On kill -9 before the grades changed, or between any two files, the note stays. Every later command that shows or changes the class
 * finds it, or finds that the remembered hash is another one, and writes the results again.
 */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { GradeSheet } from "@markmill/gradebook";
import { describeError, type Stack } from "@markmill/stack";
import { countOf } from "./amounts.ts";
import { readClassFacts } from "./class-facts.ts";
import { fingerprintOf, type Papers, type ReadClass, readBatchClass, writePapers } from "./class-papers.ts";
import { exitCodes, type Terminal } from "./command.ts";
import { draftSheet } from "./draft-sheet.ts";
import { isThere, put, setAside } from "./put-file.ts";
import { releasedSheet } from "./released-sheet.ts";
import {
  paperKinds,
  type ResultsPlace,
  type ResultsRegister,
  readRegister,
  writeRegister,
} from "./results-register.ts";
import { shortId } from "./short-id.ts";

const OUT_OF_DATE = "OUT-OF-DATE.txt";

/** How often a class is read again because it changed meanwhile (C3). */
const MOST_ROUNDS = 3;

const MOST_TOLD = 5;

interface WriteManner {
  /** Default: true. */
  readonly tellWritten?: boolean;
  /** A folder in which all files are written, also those that are the same. Default: none. */
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
  /** What could not be saved; null: the file has it all, and another command may change it at any time. */
  #unsaved: ResultsRegister | null = null;
  /** Folders with a note: this command's own, or one that was there before. */
  readonly #notes = new Map<string, "own" | "before">();
  #failed = false;
  #incomplete = false;

  constructor(stack: Stack, batchId: string, at: ResultsAt) {
    this.#stack = stack;
    this.#batchId = batchId;
    this.#at = at;
  }

  /** Remembers a folder and how results are written there. Replaces an earlier entry of the same folder. */
  async remember(place: Pick<ResultsPlace, "out" | "kinds" | "draft">): Promise<void> {
    const register = await this.#load();
    const known = register.places.find(({ out }) => out === place.out);
    const same =
      known !== undefined && known.draft === place.draft && known.kinds.join() === place.kinds.join() ? known : null;
    const others = register.places.filter(({ out }) => out !== place.out);
    await this.#save({ ...register, places: [...others, same ?? { sheet: null, students: {}, ...place }] });
  }

  /** Results are to be written into this folder, as it is remembered, or else without drafts. */
  async expect(out: string): Promise<void> {
    const { places } = await this.#load();
    if (!places.some((place) => place.out === out)) await this.remember({ out, kinds: [...paperKinds], draft: false });
  }

  /** How results are written into a folder; null: none are. */
  async placeAt(out: string): Promise<ResultsPlace | null> {
    return (await this.#places()).find((place) => place.out === out) ?? null;
  }

  /**
   * C4: `write` writes the files. They are remembered as out of date first: if the command is killed before it has written all of them,
   * the next command renames those that are there.
   */
  async exporting(exports: ResultsRegister["exports"], write: () => Promise<void>): Promise<void> {
    await this.#rememberExports(exports.map((one) => ({ ...one, sheet: "" })));
    await write();
    await this.#rememberExports(exports);
  }

  async #rememberExports(exports: ResultsRegister["exports"]): Promise<void> {
    const register = await this.#load();
    const files = new Set(exports.map(({ file }) => file));
    await this.#save({
      ...register,
      exports: [...register.exports.filter(({ file }) => !files.has(file)), ...exports],
    });
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

  /** C5: results that another machine wrote. */
  async #tellElsewhere(): Promise<void> {
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    const { out } = readClassFacts(batch?.settings.facts);
    if (out === null || (await this.#places()).some((place) => place.out === out)) return;
    if (this.#failed) return;
    this.#fail(`! the results in ${out} are not on this machine, or gone; there they are out of date`);
  }

  /** C1: from now on the files may be out of date. */
  async note(): Promise<void> {
    for (const { out } of await this.#places()) {
      if (!(await isThere(out))) continue;
      const before = this.#notes.get(out) ?? ((await isThere(join(out, OUT_OF_DATE))) ? "before" : "own");
      this.#notes.set(out, before);
      // A folder that cannot be written is named when the results are.
      await put(join(out, OUT_OF_DATE), noteText(this.#batchId)).catch(() => undefined);
    }
  }

  /** Updates all remembered folders. Reports only files that were written or could not be written. */
  async write({
    tellWritten = true,
    whole = null,
    tellLeftOut = true,
  }: WriteManner = {}): Promise<ReadonlyMap<string, Papers>> {
    if (whole !== null) this.#notes.set(whole, "before");
    const papers = new Map<string, Papers>();
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const read = await this.#read();
      if (read === null) return papers;
      for (const place of await this.#places()) {
        const written = await this.#writePlace(read, place, { tellWritten, tellLeftOut });
        if (written !== null) papers.set(place.out, written);
      }
      await this.#setExportsAside(read);
      const now = await this.#read();
      if (now === null || fingerprintOf(now) === fingerprintOf(read)) break;
    }
    return papers;
  }

  /** For commands that only show the class: an earlier one may have been killed, or grades were changed elsewhere. */
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
  ): Promise<Papers | null> {
    const { terminal } = this.#at;
    const { out } = place;
    if (place.sheet !== null && !(await isThere(out))) {
      this.#fail(`! the results in ${out} are gone, so they were not updated; a copy elsewhere is out of date`);
      const register = await this.#load();
      await this.#save({ ...register, places: register.places.filter((one) => one.out !== out) });
      return null;
    }
    const note = join(out, OUT_OF_DATE);
    try {
      const whole = (this.#notes.get(out) ?? ((await isThere(note)) ? "before" : "own")) === "before";
      this.#notes.set(out, whole ? "before" : "own");
      const now = this.#stack.store.clock.now();
      const written = await writePapers(read, place, { now, whole, note: () => put(note, noteText(this.#batchId)) });
      const { leftOut } = written.papers;
      if (tellLeftOut || written.changed > 0) for (const message of leftOut) terminal.err(`! ${message}`);
      if (tellLeftOut && leftOut.length > 0) this.#incomplete = true;
      const register = await this.#load();
      const others = register.places.filter((one) => one.out !== out);
      await this.#save({ ...register, places: [...others, { ...place, ...written.state }] });
      await rm(note, { force: true });
      this.#notes.delete(out);
      if (tellWritten && written.changed > 0) terminal.err(`results updated: ${out}`);
      return written.papers;
    } catch (error) {
      this.#fail(`! the results in ${out} are out of date: ${describeError(error).message}`);
      return null;
    }
  }

  /** C4. */
  async #setExportsAside(read: ReadClass): Promise<void> {
    const register = await this.#load();
    if (register.exports.length === 0) return;
    const hashes = { draft: sheetHash(draftSheet(read.sheet)), released: sheetHash(releasedSheet(read).sheet) };
    const old = register.exports.filter(({ draft, sheet }) => sheet !== (draft ? hashes.draft : hashes.released));
    if (old.length === 0) return;
    const renamed: string[] = [];
    for (const { file } of old) {
      try {
        const stale = await setAside(file);
        if (stale !== null) renamed.push(stale);
      } catch (error) {
        this.#fail(`! ${file} is out of date and could not be renamed: ${describeError(error).message}`);
      }
    }
    await this.#save({ ...register, exports: register.exports.filter((one) => !old.includes(one)) });
    if (renamed.length === 0) return;
    this.#at.terminal.err(`! ${countOf(renamed.length, "export")} out of date, renamed:`);
    for (const file of renamed.slice(0, MOST_TOLD)) this.#at.terminal.err(`    ${file}`);
    if (renamed.length > MOST_TOLD) this.#at.terminal.err(`    and ${renamed.length - MOST_TOLD} more`);
    this.#at.terminal.err(`next: markmill export ${shortId(this.#batchId)} --to …   exports the grades again`);
  }

  #fail(message: string): void {
    this.#failed = true;
    this.#at.terminal.err(message);
    this.#at.terminal.err(`next: markmill report ${shortId(this.#batchId)} --out DIR   writes results again`);
  }

  /** Those remembered, and the one that the class names: results may have been written before there was a register. */
  async #places(): Promise<readonly ResultsPlace[]> {
    const { places } = await this.#load();
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    const { out, table } = readClassFacts(batch?.settings.facts);
    if (table !== null) return [];
    if (out === null || places.some((place) => place.out === out)) return places;
    if (await isThere(join(out, "class-report.html"))) {
      return [...places, { ...{ out, kinds: [...paperKinds], draft: false }, sheet: null, students: {} }];
    }
    return places;
  }

  async #read(): Promise<ReadClass | null> {
    const batch = await this.#stack.tenant.batches.get(this.#batchId);
    return batch === null ? null : await readBatchClass(this.#stack, batch);
  }

  async #load(): Promise<ResultsRegister> {
    return this.#unsaved ?? (await readRegister(this.#at.home, this.#batchId));
  }

  async #save(register: ResultsRegister): Promise<void> {
    try {
      await writeRegister(this.#at.home, this.#batchId, register);
      this.#unsaved = null;
    } catch (error) {
      this.#unsaved = register;
      if (!this.#failed)
        this.#at.terminal.err(`! where results are cannot be remembered: ${describeError(error).message}`);
      this.#failed = true;
    }
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

/** Of the grades that an export was made from. */
export function sheetHash(sheet: GradeSheet): string {
  return createHash("sha256").update(JSON.stringify(sheet)).digest("hex");
}

function noteText(batchId: string): string {
  return `The files in this folder may be older than the grades of the class.\n'markmill report ${shortId(batchId)}' writes them again and removes this note.\n`;
}
