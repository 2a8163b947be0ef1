import type { Finding } from "./finding.ts";

/** Of longer source lines, only the part around the caret is shown. */
const WIDEST_LINE = 120;

/** `file:line:col: error CODE: message`, the source line with a caret below, and the fix. */
export function renderFinding(finding: Finding, sourceText?: string): string {
  const { file, line, column } = finding.at;
  const rows = [`${file}:${line}:${column}: ${finding.severity} ${finding.code}: ${finding.message}`];
  const source = sourceText === undefined ? undefined : lineAt(sourceText, line);
  if (source !== undefined) {
    const from = column > WIDEST_LINE - 20 ? column - WIDEST_LINE / 2 : 0;
    const shown = source.slice(from, from + WIDEST_LINE);
    const gutter = `${line} | `;
    const before = shown.slice(0, Math.max(0, column - 1 - from)).replace(/[^\t]/g, " ");
    rows.push(`${gutter}${shown}`, `${" ".repeat(gutter.length)}${before}^`);
  }
  rows.push(`fix: ${finding.fix}`);
  return rows.join("\n");
}

function lineAt(text: string, line: number): string | undefined {
  let start = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf("\n", start);
    if (end < 0) return undefined;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  const found = text.slice(start, end < 0 ? undefined : end).replace(/\r$/, "");
  return line === 1 ? found.replace(/^\uFEFF/, "") : found;
}
