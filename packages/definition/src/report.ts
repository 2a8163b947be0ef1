import type { Finding, Place } from "./finding.ts";
import { suggest } from "./suggest.ts";

/** Suggestions cost the number of candidates; past this many a file is beyond spelling. */
const SUGGESTIONS = 200;

/** Gathers findings, all of them, in the order in which they are met. `Code`: those that it takes. */
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

  /** `Did you mean X? ` when a candidate is near, else the empty string. */
  didYouMean(word: string, candidates: Iterable<string> | (() => Iterable<string>)): string {
    if (this.#suggestions === 0) return "";
    this.#suggestions -= 1;
    const near = suggest(word, typeof candidates === "function" ? candidates() : candidates);
    return near === null ? "" : `Did you mean ${near}? `;
  }
}
