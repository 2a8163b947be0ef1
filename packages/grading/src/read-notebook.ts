/**
 * Turns a notebook into text that can be read and quoted: its cells in order, each with its source and its printed output. Pictures and
 * markup in outputs are left out. A file that is not a notebook stays unchanged.
 */
import { z } from "zod";
import { isDeepJson } from "./is-deep-json.ts";

const lines = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join(""))]);
const notebook = z.looseObject({
  cells: z.array(
    z.looseObject({
      cell_type: z.string(),
      source: lines,
      outputs: z
        .array(
          z.looseObject({
            text: lines.optional(),
            data: z.looseObject({ "text/plain": lines.optional() }).optional(),
            evalue: z.string().optional(),
          }),
        )
        .optional(),
    }),
  ),
});

const LONGEST_OUTPUT = 4_000;

export function readNotebook(text: string): string {
  let raw: unknown;
  try {
    if (isDeepJson(text)) return text;
    raw = JSON.parse(text);
  } catch {
    return text;
  }
  const read = notebook.safeParse(raw);
  if (!read.success) return text;
  const parts: string[] = [];
  for (const [index, { cell_type: kind, source, outputs = [] }] of read.data.cells.entries()) {
    const isCode = kind === "code";
    parts.push(`# cell ${index + 1}, ${isCode ? "code" : "text"}`, isCode ? codeOf(source) : asComment(source));
    const printed = outputs
      .map((output) => output.text ?? output.data?.["text/plain"] ?? output.evalue ?? "")
      .join("\n")
      .slice(0, LONGEST_OUTPUT);
    if (printed.trim() !== "") parts.push(`# cell ${index + 1} printed`, asComment(printed));
  }
  return parts.join("\n");
}

/** Cells in another language, shell commands and notebook commands are not Python, so they become comments. */
function codeOf(source: string): string {
  if (/^\s*%%(?!time|timeit|capture|prun|python|py)/.test(source)) return asComment(source);
  return source
    .split(/\r\n|\n|\r/)
    .map((line) => (/^\s*(?:[%!?]|%%)/.test(line) ? `# ${line}` : line))
    .join("\n");
}

/** Prose and output are words, not code. The second pass removes them with the comments. */
function asComment(text: string): string {
  return text
    .split(/\r\n|\n|\r/)
    .map((line) => `# ${line}`)
    .join("\n");
}
