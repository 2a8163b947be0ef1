import type { Finding, Place } from "./finding.ts";
import { suggest } from "./suggest.ts";

/**
 * The highest number of suggestions, because each costs time in proportion to the number of candidates. A file with more mistakes needs no
 * help with spelling.
 */
const SUGGESTIONS = 200;

/** Collects all findings in the order in which they are found. `Code`: the codes that it accepts. */
export class Report<Code extends string = string> {
  readonly findings: Finding[] = [];
  #suggestions = SUGGESTIONS;

  error(code: Code, at: Place, message: string, fix: string): void {
    this.findings.push({ severity: "error", code, message, fix, at });
  }

  warn(code: Code, at: Place, message: string, fix: string, about?: string): void {
    this.findings.push({ severity: "warning", code, message, fix, at, ...(about === undefined ? {} : { about }) });
  }

  add(findings: Iterable<Finding>): void {
    for (const finding of findings) this.findings.push(finding);
  }

  get hasErrors(): boolean {
    return this.findings.some((finding) => finding.severity === "error");
  }

  /** Returns `Did you mean X? ` if a similar candidate exists, else the empty string. */
  didYouMean(word: string, candidates: Iterable<string> | (() => Iterable<string>)): string {
    if (this.#suggestions === 0) return "";
    this.#suggestions -= 1;
    const near = suggest(word, typeof candidates === "function" ? candidates() : candidates);
    return near === null ? "" : `Did you mean ${near}? `;
  }
}
