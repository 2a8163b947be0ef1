import type { Role } from "@markmill/engine";
import type { Place } from "./finding.ts";
import type { SourceLine } from "./read-source.ts";
import type { Report } from "./report.ts";

export interface Document {
  readonly title: string | null;
  readonly description: string;
  /** Mermaid blocks of the Workflow section. */
  readonly charts: readonly { readonly text: string; readonly at: Place }[];
  /** In order; a later one with the same id stands in place of an earlier. */
  readonly prompts: readonly DocumentPrompt[];
  /** Where to point when something is missing. */
  readonly hasWorkflowSection: boolean;
}

export interface DocumentPrompt {
  readonly id: string;
  readonly text: string;
  readonly lines: readonly SourceLine[];
  readonly at: Place;
}

const LARGE_PROMPT = 1_000_000;

/** The role a prompt's id declares by its first word. */
export function roleOf(id: string): Role | null {
  const word = /^(User|System|Assistant)(?![\p{L}\p{N}_])/u.exec(id)?.[1];
  return word === "User" ? "user" : word === "System" ? "system" : word === "Assistant" ? "assistant" : null;
}

export function isSectionName(heading: string): boolean {
  return /^(?:workflow|prompts)$/i.test(heading);
}

export function readDocument(lines: readonly SourceLine[], report: Report): Document {
  let section: "none" | "description" | "workflow" | "prompts" = "none";
  let title: string | null = null;
  let hasWorkflowSection = false;
  const description: string[] = [];
  const charts: { text: string; at: Place }[] = [];
  const prompts: DocumentPrompt[] = [];
  let chart: { lines: string[]; at: Place | null; opened: Place } | null = null;
  let prompt: { id: string; lines: SourceLine[]; at: Place } | null = null;
  let openFence: Place | null = null;

  const endPrompt = () => {
    if (prompt === null) return;
    const text = prompt.lines.map((line) => line.text).join("\n").trim();
    if (text === "")
      report.warn("PROMPT_EMPTY", prompt.at, `The prompt "${prompt.id}" has no text.`, "Write the text below its heading.");
    prompts.push({ id: prompt.id, text, lines: prompt.lines, at: prompt.at });
    prompt = null;
  };
  const endChart = () => {
    if (chart?.at) charts.push({ text: chart.lines.join("\n"), at: chart.at });
    chart = null;
  };

  for (const source of lines) {
    const { text, file, line, block } = source;
    if (block.is === "fence") openFence = { file, line, column: block.indent + 1 };
    if (block.is === "fenced" && block.closes) openFence = null;

    if (block.is === "heading" && block.level === 1) {
      endPrompt();
      const name = block.text.toLowerCase();
      if (name === "workflow" || name === "prompts") section = name;
      else if (title === null && block.text !== "") {
        title = block.text;
        section = "description";
      } else section = "none";
      if (name === "workflow") hasWorkflowSection = true;
      continue;
    }
    switch (section) {
      case "description":
        description.push(text);
        break;
      case "workflow":
        if (chart !== null && (block.is !== "fenced" || block.closes)) endChart();
        if (block.is === "fence" && /^mermaid(?![\w-])/i.test(block.info))
          chart = { lines: [], at: null, opened: { file, line, column: block.indent + 1 } };
        else if (chart !== null) {
          chart.at ??= { file, line, column: 1 };
          chart.lines.push(text);
        }
        break;
      case "prompts":
        if (block.is === "heading" && block.level === 2 && roleOf(block.text) !== null) {
          endPrompt();
          prompt = { id: block.text, lines: [], at: { file, line, column: block.column } };
        } else prompt?.lines.push(source);
        break;
    }
  }
  if (openFence !== null && lines.at(-1)?.block.is !== "text") {
    report.warn(
      "FENCE_OPEN",
      openFence,
      "The code block that starts here is never closed, so everything after it belongs to it.",
      "Close the block with a line of the same marks.",
    );
  }
  endChart();
  endPrompt();
  for (const { id, text, at } of prompts) {
    if (text.length > LARGE_PROMPT) {
      report.warn(
        "PROMPT_LARGE",
        at,
        `The prompt "${id}" has ${text.length} characters; few models accept so many.`,
        "Hand long material to the run as a file and name it with file:.",
      );
    }
  }
  return { title, description: description.join("\n").trim(), charts, prompts, hasWorkflowSection };
}
