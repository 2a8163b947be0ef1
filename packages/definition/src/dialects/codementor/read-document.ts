import type { Role } from "@markmill/engine";
import type { RubricLine } from "@markmill/grading";
import type { Place } from "../../finding.ts";
import { filePlacesIn, placesIn } from "../../template-places.ts";
import type { NameUse } from "./collect-names.ts";
import { NearHeadings } from "./near-headings.ts";
import type { SourceLine } from "./read-source.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

export interface Document {
  readonly title: string | null;
  readonly description: string;
  /** Mermaid blocks of the Workflow section. */
  readonly charts: readonly { readonly text: string; readonly at: Place }[];
  /** In order. A later prompt with the same id replaces an earlier one. */
  readonly prompts: readonly { readonly id: string; readonly text: string; readonly at: Place }[];
  /** Names that the prompts use, each once per prompt. */
  readonly uses: readonly NameUse[];
  readonly hasWorkflowSection: boolean;
  /** The section's lines outside code blocks; null if there is no such section. */
  readonly rubric: { readonly lines: readonly RubricLine[]; readonly at: Place } | null;
  /** The first code block below each heading of the Schemas section. */
  readonly schemas: readonly { readonly name: string; readonly text: string; readonly at: Place }[];
}

const LARGE_PROMPT = 1_000_000;

/** The role that the first word of a prompt's id declares, in any case. */
export function roleOf(id: string): Role | null {
  const word = /^(?:user|system|assistant)(?![\p{L}\p{N}_])/iu.exec(id)?.[0].toLowerCase();
  return word === "user" || word === "system" || word === "assistant" ? word : null;
}

export function isSectionName(heading: string): boolean {
  return /^(?:workflow|prompts|rubric|schemas)$/i.test(heading);
}

/** Reads lines one by one and keeps of each only the part that the document needs. */
export class DocumentReader {
  readonly #report: WorkflowReport;
  #section: "none" | "description" | "workflow" | "prompts" | "rubric" | "schemas" = "none";
  #title: string | null = null;
  #hasWorkflowSection = false;
  readonly #description: string[] = [];
  readonly #charts: { text: string; at: Place }[] = [];
  readonly #prompts: { id: string; text: string; at: Place }[] = [];
  readonly #uses: NameUse[] = [];
  #chart: { lines: string[]; at: Place | null } | null = null;
  #prompt: { id: string; lines: string[]; names: Set<string>; at: Place } | null = null;
  #openFence: Place | null = null;
  readonly #schemas: { name: string; text: string; at: Place }[] = [];
  #schema: { name: string; lines: string[] | null; at: Place | null } | null = null;
  #rubric: { lines: RubricLine[]; at: Place } | null = null;
  /** Set if the document's first heading is "Rubric". If no table follows it, it is the title. */
  #maybeTitle: { title: string; lines: string[] } | null = null;

  /** Names of the level-1 headings, in lower case. */
  readonly #sections = new Set<string>();
  readonly #near: NearHeadings;

  constructor(report: WorkflowReport) {
    this.#report = report;
    this.#near = new NearHeadings(report, (heading) => roleOf(heading) !== null);
  }

  add({ text, file, line, block }: SourceLine): void {
    if (block.is === "fence") this.#openFence = { file, line, column: block.indent + 1 };
    else if (block.is !== "fenced" || block.closes) this.#openFence = null;
    if (!(block.is === "heading" && block.level === 1 && isSectionName(block.text))) {
      const place = { inPrompt: this.#prompt !== null, titled: this.#title !== null };
      this.#near.look({ text, file, line, block }, this.#section, place);
    }

    if (block.is === "heading" && block.level === 1) {
      if (this.#prompt !== null && !isSectionName(block.text)) {
        this.#report.warn(
          "PROMPT_CUT",
          { file, line, column: block.column },
          `The prompt "${this.#prompt.id}" ends here, because "# ${block.text.slice(0, 40)}" starts a section of the document.`,
          "If the line belongs to the prompt, use ### or put it in a code fence. Otherwise, move the section before # Prompts.",
        );
      }
      this.#endPrompt();
      this.#endChart();
      this.#endSchema();
      this.#openSection(block.text, { file, line, column: block.column });
      return;
    }
    switch (this.#section) {
      case "description":
        this.#description.push(text);
        break;
      case "workflow":
        if (this.#chart !== null && (block.is !== "fenced" || block.closes)) this.#endChart();
        if (block.is === "fence" && /^mermaid(?![\w-])/i.test(block.info)) this.#chart = { lines: [], at: null };
        else if (this.#chart !== null) {
          this.#chart.at ??= { file, line, column: 1 };
          this.#chart.lines.push(text);
        }
        break;
      case "rubric":
        this.#maybeTitle?.lines.push(text);
        if (block.is === "text") this.#rubric?.lines.push({ text, file, line });
        break;
      case "schemas":
        if (block.is === "heading" && block.level === 2) this.#schema = { name: block.text, lines: null, at: null };
        else this.#addToSchema(text, block, { file, line, column: 1 });
        break;
      case "prompts":
        if (block.is === "heading" && block.level === 2 && roleOf(block.text) !== null) {
          this.#endPrompt();
          this.#prompt = { id: block.text, lines: [], names: new Set(), at: { file, line, column: block.column } };
        } else this.#addToPrompt(text, file, line);
        break;
    }
  }

  finish(): Document {
    if (this.#openFence !== null) {
      this.#report.warn(
        "FENCE_OPEN",
        this.#openFence,
        "The code block that starts here is never closed, so everything after it belongs to it.",
        "Close the block with a line of the same marks.",
      );
    }
    this.#endChart();
    this.#endPrompt();
    this.#near.finish(this.#sections);
    this.#endSchema();
    const titled = this.#maybeTitle?.lines.every((line) => !line.trim().startsWith("|")) ? this.#maybeTitle : null;
    return {
      title: titled?.title ?? this.#title,
      description: (titled?.lines ?? this.#description).join("\n").trim(),
      charts: this.#charts,
      prompts: this.#prompts,
      uses: this.#uses,
      hasWorkflowSection: this.#hasWorkflowSection,
      rubric: this.#rubric,
      schemas: this.#schemas,
    };
  }

  #openSection(heading: string, at: Place): void {
    const name = heading.toLowerCase();
    this.#sections.add(name);
    if (name === "rubric") {
      if (this.#rubric === null && this.#title === null) this.#maybeTitle = { title: heading, lines: [] };
      if (this.#rubric !== null)
        this.#report.error("RUBRIC_TWICE", at, "There are two rubrics.", "Remove one of them.");
      this.#rubric ??= { lines: [], at };
      this.#section = name;
    } else if (name === "workflow" || name === "prompts") this.#section = name;
    // A document may have the title "Schemas".
    else if (name === "schemas" && (this.#title !== null || this.#section !== "none")) this.#section = name;
    else if (this.#title === null && heading !== "") {
      this.#title = heading;
      this.#section = "description";
    } else this.#section = "none";
    if (name === "workflow") this.#hasWorkflowSection = true;
  }

  #addToPrompt(text: string, file: string, line: number): void {
    if (this.#prompt === null) return;
    const { id, lines, names } = this.#prompt;
    lines.push(text);
    if (!text.includes("{{")) return;
    for (const { path, column } of filePlacesIn(text))
      reportFilePlace(this.#report, path, { file, line, column: column + 1 });
    for (const { name, column } of placesIn(text)) {
      if (names.has(name)) continue;
      names.add(name);
      this.#uses.push({ as: "place", name, where: `the prompt "${id}"`, at: { file, line, column: column + 1 } });
    }
  }

  #addToSchema(text: string, block: SourceLine["block"], at: Place): void {
    if (this.#schema === null) return;
    if (block.is === "fence" && this.#schema.lines === null) this.#schema.lines = [];
    else if (block.is === "fenced" && block.closes) this.#endSchema();
    else if (block.is === "fenced" && this.#schema.lines !== null) {
      this.#schema.at ??= at;
      this.#schema.lines.push(text);
    }
  }

  #endSchema(): void {
    const { name, lines, at } = this.#schema ?? { name: "", lines: null, at: null };
    if (lines !== null && at !== null) this.#schemas.push({ name, text: lines.join("\n"), at });
    this.#schema = null;
  }

  #endChart(): void {
    if (this.#chart?.at) this.#charts.push({ text: this.#chart.lines.join("\n"), at: this.#chart.at });
    this.#chart = null;
  }

  #endPrompt(): void {
    if (this.#prompt === null) return;
    const { id, lines, at } = this.#prompt;
    const text = lines.join("\n").trim();
    if (text === "")
      this.#report.warn("PROMPT_EMPTY", at, `The prompt "${id}" has no text.`, "Write the text below its heading.");
    if (text.length > LARGE_PROMPT) {
      this.#report.warn(
        "PROMPT_LARGE",
        at,
        `The prompt "${id}" has ${text.length} characters, which is too long for most models.`,
        "Pass long texts to the run as a file and name it with file:.",
      );
    }
    this.#prompts.push({ id, text, at });
    this.#prompt = null;
  }
}

/** The model would receive the braces, not the file. */
export function reportFilePlace(report: WorkflowReport, path: string, at: Place): void {
  const name =
    (path.split("/").at(-1)?.split(".", 1)[0] ?? "").replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase() || "TEXT";
  report.error(
    "PLACE_FILE",
    at,
    `{{file:${path.slice(0, 60)}}} is not replaced, because a placeholder contains a name, not a file.`,
    `Load the file first, SET_${name}["Set: ${name}=file:${path.slice(0, 60)}"], and write {{${name}}} here.`,
  );
}
