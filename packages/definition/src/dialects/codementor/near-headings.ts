/**
 * Warns about lines that look like the heading of a section or a prompt but are not: `#Workflow`, `## Workflow`, `# **Prompts**`, headings
 * that are underlined, indented or numbered, and headings with a no-break space before or after the hash. A reader sees a heading there, so
 * the parser must report that it sees none.
 *
 * H1  A section counts as missed only if the document has no such section: `## Workflow` in a longer description is prose.
 * H2  Inside the text of a prompt, only a missing Workflow section is reported, because such texts have headings of their own.
 * H3  Work per line is bounded, because only the beginning of a line is checked.
 */
import type { Place } from "../../finding.ts";
import type { SourceLine } from "./read-source.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

type SectionName = "workflow" | "prompts" | "rubric";

interface NearMiss {
  readonly section: SectionName;
  readonly at: Place;
  readonly message: string;
  readonly fix: string;
}

const titles: Readonly<Record<SectionName, string>> = { workflow: "Workflow", prompts: "Prompts", rubric: "Rubric" };
/** Longer lines count as prose and are not checked. */
const longest = 120;

export class NearHeadings {
  readonly #missed: NearMiss[] = [];
  readonly #report: WorkflowReport;
  readonly #isPrompt: (heading: string) => boolean;
  #before: { readonly text: string; readonly at: Place } | null = null;
  #lines = 0;

  constructor(report: WorkflowReport, isPrompt: (heading: string) => boolean) {
    this.#report = report;
    this.#isPrompt = isPrompt;
  }

  /** `inside`: the section of the line. `inPrompt`: the line is part of a prompt's text. `titled`: a title was found. */
  look(
    { text, file, line, block }: SourceLine,
    inside: string,
    { inPrompt, titled }: { readonly inPrompt: boolean; readonly titled: boolean },
  ): void {
    if (block.is === "fence" || block.is === "fenced" || text.length > longest) {
      this.#before = null;
      return;
    }
    if (text.trim() !== "") this.#lines += 1;
    const at = { file, line, column: 1 + text.length - text.trimStart().length };
    const underlined = this.#before !== null && /^ {0,3}(?:=+|-+)\s*$/.test(text) ? this.#before : null;
    this.#before = block.is === "text" && text.trim() !== "" ? { text: text.trim(), at } : null;
    if (underlined !== null) return this.#underlined(underlined, text.trim(), inside, inPrompt, titled);
    const found = /^([ \u00ad\u00a0\u2000-\u200f\u202f\u2060\ufeff]{0,20})(#{1,6})(.*)$/u.exec(text);
    if (found === null) return;
    const [, before = "", hashes = "", written = ""] = found;
    const heading = plain(written);
    const section = sectionOf(heading);
    const spaced = /^[ \t]/.test(written);
    if (section !== null) {
      if (inPrompt && section !== "workflow") return;
      this.#missed.push({
        section,
        at,
        message: `"${text.trim()}" is not read as the section ${titles[section]}${reason({ before, hashes, spaced, wanted: 1 })}.`,
        fix: `Write # ${titles[section]} on a line of its own.`,
      });
      return;
    }
    if (inside !== "prompts" || !this.#isPrompt(heading)) return;
    const isHeading = /^ {0,3}$/.test(before) && hashes.length === 2 && spaced && this.#isPrompt(written.trim());
    if (isHeading || hashes.length > 2) return;
    this.#report.warn(
      "HEADING_NEAR_MISS",
      at,
      `"${text.trim()}" is not read as the heading of a prompt${reason({ before, hashes, spaced, wanted: 2 })}.`,
      `Write ## ${heading} on a line of its own.`,
    );
  }

  /** Reports lines that look like a section that the document does not have. */
  finish(has: ReadonlySet<string>): void {
    for (const { section, at, message, fix } of this.#missed) {
      if (!has.has(section)) this.#report.warn("HEADING_NEAR_MISS", at, message, fix);
    }
  }

  #underlined(
    { text, at }: { readonly text: string; readonly at: Place },
    line: string,
    inside: string,
    inPrompt: boolean,
    titled: boolean,
  ): void {
    const heading = plain(text);
    const section = sectionOf(heading);
    const why = "underlined headings are not read, only those with # in front";
    if (section !== null && (!inPrompt || section === "workflow")) {
      const message = `"${text}" is not read as the section ${titles[section]}: ${why}.`;
      this.#missed.push({ section, at, message, fix: `Write # ${titles[section]} on a line of its own.` });
      return;
    }
    if (inside === "prompts" && this.#isPrompt(heading)) {
      const message = `"${text}" is not read as the heading of a prompt: ${why}.`;
      this.#report.warn("HEADING_NEAR_MISS", at, message, `Write ## ${heading} on a line of its own.`);
      return;
    }
    // Only the first two lines of a document can be its title.
    if (titled || line[0] !== "=" || this.#lines > 2) return;
    const message = `"${text}" is not read as the title: ${why}.`;
    this.#report.warn("HEADING_NEAR_MISS", at, message, `Write # ${text}.`);
  }
}

function sectionOf(heading: string): SectionName | null {
  // A reader recognises the word in spite of spaces, invisible characters, numbers and pictures around it, so they are removed.
  const word = heading.toLowerCase().replaceAll(/[^\p{L}]/gu, "");
  if (word === "workflow" || word === "workflows") return "workflow";
  if (word === "prompts" || word === "prompt") return "prompts";
  return word === "rubric" || word === "rubrics" ? "rubric" : null;
}

/** Removes emphasis, closing hashes, a colon, and outer spaces of any kind. */
function plain(written: string): string {
  return written
    .replaceAll(/[\u00a0\u2000-\u200b\u202f\ufeff]/g, " ")
    .replaceAll(/[*_`~]/g, "")
    .trim()
    .replace(/[ :.#]{1,20}$/, "")
    .trim();
}

interface Written {
  readonly before: string;
  readonly hashes: string;
  readonly spaced: boolean;
  readonly wanted: number;
}

function reason({ before, hashes, spaced, wanted }: Written): string {
  if (/[^ ]/.test(before)) return ": an invisible character stands before the #";
  if (before.length > 3) return ": a line that is indented by four spaces is code";
  if (hashes.length !== wanted) return `: it has ${hashes} in front, not ${"#".repeat(wanted)}`;
  return spaced ? ": the heading must be these words alone" : ": a plain space must follow the #";
}
