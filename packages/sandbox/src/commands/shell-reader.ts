// Reads shell text line by line, to find out whether the next line is inside a here-document or a quotation, or continues a command. Pure.
// It reads as bash does, for text that people and models write. If it errs, a line is kept unchanged, never dropped. The work is linear in
// the text.

type Context =
  /** `paren`: a group, a subshell or a command substitution. */
  | { readonly is: "paren" | "backtick" | "double" | "single" | "escaped" | "parameter" }
  | { readonly is: "arithmetic"; depth: number };

export interface HereDocument {
  readonly delimiter: string;
  /** `<<-`: leading tabs of its lines do not count. */
  readonly withoutTabs: boolean;
}

/** The maximum nesting of quotations and substitutions. Deeper levels are not distinguished, so that the work stays linear. */
const MAX_CONTEXTS = 64;

const opening = new Set(["if", "for", "while", "until", "select", "case", "{"]);
const closing = new Set(["fi", "done", "esac", "}"]);
const passing = new Set(["then", "do", "else", "elif", "!", "time"]);

export class ShellReader {
  #contexts: Context[] = [];
  #documents: HereDocument[] = [];
  #at = 0;
  #depth = 0;
  #continued = false;
  /** The last line ends with a pipe or `&&`, so another line must follow. */
  #awaiting = false;
  #expecting = true;

  /** The here-document whose body the next line belongs to. */
  get document(): HereDocument | undefined {
    return this.#documents[this.#at];
  }

  /** The next line is text of a here-document, of a quotation, or of a line that ends with a backslash. */
  get inText(): boolean {
    const top = this.#contexts.at(-1)?.is;
    return this.document !== undefined || this.#continued || top === "single" || top === "escaped" || top === "double";
  }

  /** The command is not complete: the next line continues it. */
  get isOpen(): boolean {
    return this.inText || this.#contexts.length > 0 || this.#depth > 0 || this.#awaiting;
  }

  next(line: string): void {
    const { document } = this;
    if (document !== undefined) {
      if ((document.withoutTabs ? line.replace(/^\t+/, "") : line) !== document.delimiter) return;
      this.#at += 1;
      if (this.#at === this.#documents.length) {
        this.#documents = [];
        this.#at = 0;
      }
      return;
    }
    if (!this.#continued) this.#expecting = true;
    this.#continued = false;
    const blank = line.trim() === "";
    this.#scan(line);
    if (!blank) this.#awaiting = !this.#continued && /(?:\|\|?|&&)\s*$/.test(line.slice(-64));
  }

  #enter(context: Context): void {
    if (this.#contexts.length < MAX_CONTEXTS) this.#contexts.push(context);
  }

  #scan(line: string): void {
    let at = 0;
    while (at < line.length) {
      const top = this.#contexts.at(-1);
      switch (top?.is) {
        case "single": {
          const end = line.indexOf("'", at);
          if (end < 0) return;
          this.#contexts.pop();
          at = end + 1;
          break;
        }
        case "escaped":
          at = this.#inEscaped(line, at);
          break;
        case "double":
        case "parameter":
          at = this.#inExpansion(line, at, top.is);
          break;
        case "arithmetic":
          at = this.#inArithmetic(line, at, top);
          break;
        default:
          at = this.#inCommand(line, at);
      }
    }
  }

  #inEscaped(line: string, at: number): number {
    if (line[at] === "\\") return at + 2;
    if (line[at] === "'") this.#contexts.pop();
    return at + 1;
  }

  /** Inside `"…"` or `${…}`. */
  #inExpansion(line: string, at: number, is: "double" | "parameter"): number {
    const character = line[at];
    if (character === "\\") return at + 2;
    if (character === (is === "double" ? '"' : "}")) {
      this.#contexts.pop();
      this.#expecting = false;
      return at + 1;
    }
    if (is === "parameter" && (character === "'" || character === '"')) {
      this.#enter({ is: character === "'" ? "single" : "double" });
      return at + 1;
    }
    return this.#substitution(line, at) ?? at + 1;
  }

  #inArithmetic(line: string, at: number, context: Extract<Context, { is: "arithmetic" }>): number {
    const character = line[at];
    const nested = this.#substitution(line, at);
    if (nested !== null) return nested;
    if (character === "(") context.depth += 1;
    else if (character === ")" && context.depth > 0) context.depth -= 1;
    else if (character === ")" && line[at + 1] === ")") {
      this.#contexts.pop();
      this.#expecting = false;
      return at + 2;
    }
    return at + 1;
  }

  /** Handles `$(`, `$((`, `${` and backticks. Returns null if none of them starts here. */
  #substitution(line: string, at: number): number | null {
    const next = line[at + 1];
    if (line[at] === "`") {
      const open = this.#contexts.findLastIndex(({ is }) => is === "backtick");
      if (open >= 0) this.#contexts.length = open;
      else {
        this.#enter({ is: "backtick" });
        this.#expecting = true;
      }
      return at + 1;
    }
    if (line[at] !== "$" || (next !== "(" && next !== "{")) return null;
    if (next === "{") {
      this.#enter({ is: "parameter" });
      return at + 2;
    }
    if (line[at + 2] === "(") {
      this.#enter({ is: "arithmetic", depth: 0 });
      return at + 3;
    }
    this.#enter({ is: "paren" });
    this.#expecting = true;
    return at + 2;
  }

  #inCommand(line: string, at: number): number {
    const character = line[at] ?? "";
    if (/\s/.test(character)) return at + 1;
    const nested = this.#substitution(line, at);
    if (nested !== null) return nested;
    switch (character) {
      case "\\":
        this.#continued = at === line.length - 1;
        return at + 2;
      case "#":
        // A comment can start only where a word can start.
        if (at === 0 || /[\s;&|()]/.test(line[at - 1] ?? "")) return line.length;
        return at + 1;
      case "'":
        this.#enter({ is: at > 0 && line[at - 1] === "$" ? "escaped" : "single" });
        this.#expecting = false;
        return at + 1;
      case '"':
        this.#enter({ is: "double" });
        this.#expecting = false;
        return at + 1;
      case "(":
        if (this.#expecting && line[at + 1] === "(") {
          this.#enter({ is: "arithmetic", depth: 0 });
          return at + 2;
        }
        this.#enter({ is: "paren" });
        this.#expecting = true;
        return at + 1;
      case ")":
        if (this.#contexts.at(-1)?.is === "paren") this.#contexts.pop();
        this.#expecting = true;
        return at + 1;
      case ";":
      case "&":
      case "|":
        this.#expecting = true;
        return at + 1;
      case "<":
        return this.#redirection(line, at);
      default:
        return this.#word(line, at);
    }
  }

  /** `<<WORD` and `<<-WORD` start a here-document; `<<<` passes a word as input. */
  #redirection(line: string, at: number): number {
    if (line[at + 1] !== "<") return at + 1;
    if (line[at + 2] === "<") return at + 3;
    const withoutTabs = line[at + 2] === "-";
    let from = at + (withoutTabs ? 3 : 2);
    while (line[from] === " " || line[from] === "\t") from += 1;
    let delimiter = "";
    let quoted = false;
    let end = from;
    for (; end < line.length && !/[\s;&|()<>]/.test(line[end] ?? ""); end += 1) {
      const character = line[end] ?? "";
      if (character === "\\") {
        delimiter += line[end + 1] ?? "";
        end += 1;
        quoted = true;
      } else if (character === "'" || character === '"') {
        const close = line.indexOf(character, end + 1);
        delimiter += line.slice(end + 1, close < 0 ? line.length : close);
        end = close < 0 ? line.length : close;
        quoted = true;
      } else delimiter += character;
    }
    if (delimiter !== "" || quoted) this.#documents.push({ delimiter, withoutTabs });
    return Math.max(end, from);
  }

  #word(line: string, at: number): number {
    let end = at;
    while (end < line.length && !/[\s;&|()<>'"`\\$#]/.test(line[end] ?? "")) end += 1;
    if (end === at) return at + 1;
    const word = line.slice(at, end);
    const whole = end === line.length || /[\s;&|()]/.test(line[end] ?? "");
    if (!this.#expecting || !whole) {
      this.#expecting = false;
      return end;
    }
    if (opening.has(word)) this.#depth += 1;
    if (closing.has(word)) this.#depth = Math.max(0, this.#depth - 1);
    this.#expecting = opening.has(word) ? !["for", "case", "select"].includes(word) : passing.has(word);
    return end;
  }
}
