/**
 * The expression of a CHECK.
 *
 *   condition  = both { "or" both }            both = negated { "and" negated }
 *   negated    = "not" negated | "(" condition ")" | comparison
 *   comparison = left operator right | left ["not"] "in" "(" item { "," item } ")" | left "is" ["not"] "empty"
 *   left       = one word, or a quoted text    right, item = a quoted text, or unquoted words
 *
 * Words on the right continue to the end of the expression. `and` and `or` among them join conditions only if a whole condition follows. So
 * `RESULT == SALT AND PEPPER` compares with three words, but `RESULT == A and SCORE > 5` is two conditions. A closing bracket ends the
 * words only if a bracket is open. Quotes make every case clear.
 *
 * E1  Never throws, and needs no more stack than MAX_DEPTH brackets.
 * E2  Time is linear in the length of the text.
 */
import type { Comparison, Condition, Operand } from "@markmill/engine";
import type { WorkflowCode } from "../workflow-codes.ts";
import { checkPattern } from "./check-pattern.ts";
import { comparisonOf, isTypographicQuote, isWord, type Token, tokenize } from "./tokenize.ts";

export type ParsedCheck =
  | { readonly ok: true; readonly condition: Condition }
  | {
      readonly ok: false;
      readonly code: WorkflowCode;
      readonly message: string;
      readonly fix: string;
      readonly offset: number;
    };

const MAX_DEPTH = 50;

export function parseCheck(text: string, lenient: boolean): ParsedCheck {
  try {
    return { ok: true, condition: new CheckParser(text, lenient).parse() };
  } catch (problem) {
    if (problem instanceof Refused) return problem.why;
    throw problem;
  }
}

class Refused extends Error {
  readonly why: Extract<ParsedCheck, { ok: false }>;
  constructor(code: WorkflowCode, offset: number, message: string, fix: string) {
    super(message);
    this.why = { ok: false, code, message, fix, offset };
  }
}

class CheckParser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #lenient: boolean;
  #at = 0;
  #depth = 0;

  constructor(text: string, lenient: boolean) {
    this.#text = text;
    this.#tokens = tokenize(text);
    this.#lenient = lenient;
  }

  parse(): Condition {
    if (this.#tokens.length === 0)
      throw new Refused("CHECK_EMPTY", 0, "The check has no expression.", "Write one, such as RESULT == 'SUCCESS'.");
    for (const token of this.#tokens) this.#refuseTypographic(token);
    this.#refuseMarks();
    const condition = this.#chain("or");
    const left = this.#tokens[this.#at];
    if (left !== undefined) {
      throw new Refused(
        "CHECK_SYNTAX",
        left.start,
        `"${this.#text.slice(left.start, left.start + 20)}" does not belong here.`,
        "Join conditions with and / or, and put text with quotes or brackets inside quotes.",
      );
    }
    return condition;
  }

  /** An apostrophe inside or after a word is not a quote: don’t, students’. */
  #refuseTypographic(token: Token): void {
    if (token.is !== "word") return;
    const first = token.text.charAt(0);
    const last = token.text.charAt(token.text.length - 1);
    if (!isTypographicQuote(first) && !(isTypographicQuote(last) && last !== "\u2019")) return;
    throw new Refused(
      "QUOTE_TYPOGRAPHIC",
      token.start,
      `${isTypographicQuote(first) ? first : last} is a typographic quote, which quotes nothing here.`,
      "Write '…' with straight quotes; put a typographic quote that is meant inside them.",
    );
  }

  /**
   * Refuses backticks and similar marks around words, because they look like quotes. Marks without a word are text, for example the fence
   * of a code block.
   */
  #refuseMarks(): void {
    const words = this.#tokens.flatMap((token) => (token.is === "word" ? [token] : []));
    for (const mark of ["`", "\u00b4", "\u2032", "\u2033"]) {
      const holds = ({ text }: { readonly text: string }) => [...text].some((character) => character !== mark);
      const opens = words.findIndex((token) => token.text.startsWith(mark) && holds(token));
      const opening = words[opens];
      if (opening === undefined || !words.slice(opens).some((token) => token.text.endsWith(mark) && holds(token)))
        continue;
      throw new Refused(
        "QUOTE_TYPOGRAPHIC",
        opening.start,
        `${mark} quotes nothing here.`,
        `Write '…' with straight quotes; put a ${mark} that is meant inside them.`,
      );
    }
  }

  #chain(word: "or" | "and"): Condition {
    const next = () => (word === "or" ? this.#chain("and") : this.#negated());
    const first = next();
    const all = [first];
    while (isWord(this.#tokens[this.#at], word)) {
      this.#at++;
      all.push(next());
    }
    return all.length === 1 ? first : { op: word, of: all };
  }

  #negated(): Condition {
    const token = this.#tokens[this.#at];
    if (isWord(token, "not") && !this.#comparesAt(this.#at)) {
      return this.#deeper(token, () => ({ op: "not", of: this.#negated() }));
    }
    if (token?.is !== "(") return this.#comparison();
    return this.#deeper(token, () => {
      const inner = this.#chain("or");
      const close = this.#tokens[this.#at];
      if (close?.is !== ")") {
        throw new Refused(
          "CHECK_SYNTAX",
          token.start,
          "This bracket is never closed.",
          "Close it with ), or put the text in quotes.",
        );
      }
      this.#at++;
      return inner;
    });
  }

  #deeper(token: Token | undefined, read: () => Condition): Condition {
    if (this.#depth >= MAX_DEPTH) {
      throw new Refused(
        "CHECK_DEPTH",
        token?.start ?? 0,
        `The expression is nested deeper than ${MAX_DEPTH} levels.`,
        "Split it over several CHECK nodes.",
      );
    }
    this.#depth++;
    this.#at++;
    const condition = read();
    this.#depth--;
    return condition;
  }

  #comparison(): Condition {
    const left = this.#left();
    const start = this.#at;
    let negate = false;
    if (isWord(this.#tokens[start], "not") && this.#negatableAt(start + 1)) {
      negate = true;
      this.#at++;
    }
    const condition = this.#compare(left);
    return negate ? { op: "not", of: condition } : condition;
  }

  #compare(left: Operand): Condition {
    const token = this.#tokens[this.#at];
    if (isWord(token, "is") && this.#isEmptyAt(this.#at)) {
      const negated = isWord(this.#tokens[this.#at + 1], "not");
      this.#at += negated ? 3 : 2;
      return negated ? { op: "not", of: { op: "empty", left } } : { op: "empty", left };
    }
    if (isWord(token, "in") && this.#tokens[this.#at + 1]?.is === "(") {
      this.#at += 2;
      return { op: "in", left, of: this.#items() };
    }
    const op = comparisonOf(token);
    if (token === undefined || op === null) this.#refuseOperator(token);
    this.#at++;
    const right = this.#right(token.end, op);
    return this.#lenient && (op === "equals" || op === "differs")
      ? { op, left, right, lenient: true }
      : { op, left, right };
  }

  #refuseOperator(token: Token | undefined): never {
    const known = "== != CONTAINS MATCHES > >= < <=, or eq ne gt ge lt le";
    if (token === undefined) {
      throw new Refused(
        "CHECK_SYNTAX",
        this.#text.length,
        "An operator and a right side are missing.",
        `Write left, operator, right; operators are ${known}.`,
      );
    }
    const shown = this.#text.slice(token.start, token.end).slice(0, 30);
    throw new Refused(
      "CHECK_OPERATOR",
      token.start,
      shown === "=" ? "= does not compare." : `"${shown}" is not an operator.`,
      shown === "="
        ? "Write == to compare."
        : `Operators are ${known}. A left side of several words needs quotes; it is one name or a quoted text.`,
    );
  }

  #left(): Operand {
    const token = this.#tokens[this.#at];
    if (token?.is === "quoted") {
      this.#at++;
      return { from: "literal", text: this.#closed(token) };
    }
    if (token?.is !== "word") {
      throw new Refused(
        "CHECK_SYNTAX",
        token?.start ?? this.#text.length,
        "A left side is missing.",
        "Start with a variable such as RESULT, or a quoted text.",
      );
    }
    this.#at++;
    return bareOperand(token.text);
  }

  #closed(token: Extract<Token, { is: "quoted" }>): string {
    if (token.closed) return token.text;
    throw new Refused(
      "CHECK_QUOTE",
      token.start,
      "This quote is never closed.",
      "Close it; a quote inside the text is written twice.",
    );
  }

  #right(after: number, op: Comparison): Operand {
    const token = this.#tokens[this.#at];
    if (token?.is === "quoted") {
      this.#at++;
      const text = this.#closed(token);
      if (op === "matches") this.#validate(text, token.start + 1);
      return { from: "literal", text };
    }
    const bare = this.#bareWords(after, false);
    if (bare.text === "") {
      throw new Refused(
        "CHECK_SYNTAX",
        bare.start,
        "A right side is missing.",
        "Write what to compare with; '' stands for the empty text.",
      );
    }
    if (op === "matches") this.#validate(bare.text, bare.start);
    return bareOperand(bare.text);
  }

  #validate(source: string, offset: number): void {
    const problem = checkPattern(source);
    if (problem === null) return;
    throw new Refused(
      "CHECK_PATTERN",
      offset + problem.offset,
      `The regular expression is refused: ${problem.message}`,
      "Use classes, groups, alternatives and repetitions; look-around and back-references are not supported.",
    );
  }

  #items(): Operand[] {
    const items: Operand[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      const before = this.#tokens[this.#at - 1]?.end ?? 0;
      if (token?.is === "quoted") {
        this.#at++;
        items.push({ from: "literal", text: this.#closed(token) });
      } else {
        const bare = this.#bareWords(before, true);
        if (bare.text === "")
          throw new Refused("CHECK_SYNTAX", bare.start, "An item is missing.", "List the values as IN ('A', 'B').");
        items.push(bareOperand(bare.text));
      }
      const end = this.#tokens[this.#at];
      if (end?.is === "," || end?.is === ")") {
        this.#at++;
        if (end.is === ")") return items;
        continue;
      }
      throw new Refused(
        "CHECK_SYNTAX",
        end?.start ?? this.#text.length,
        "The list of IN is not closed.",
        "Write IN ('A', 'B') with commas between the values.",
      );
    }
  }

  /** Returns the unchanged text up to the end of the words. */
  #bareWords(after: number, inList: boolean): { text: string; start: number } {
    let open = 0;
    let end = after;
    const start = this.#tokens[this.#at]?.start ?? this.#text.length;
    for (; this.#at < this.#tokens.length; this.#at++) {
      const token = this.#tokens[this.#at];
      if (token === undefined) break;
      if (token.is === "(") open++;
      if (token.is === ")") {
        if (open === 0 && (inList || this.#depth > 0)) break;
        open--;
      }
      if (inList && open === 0 && token.is === ",") break;
      if (!inList && (isWord(token, "and") || isWord(token, "or")) && this.#conditionAt(this.#at + 1)) break;
      end = token.end;
    }
    return { text: this.#text.slice(Math.min(start, end), end).trim(), start };
  }

  /** Returns whether a whole condition begins here. */
  #conditionAt(from: number): boolean {
    let at = from;
    while (this.#tokens[at]?.is === "(" || (isWord(this.#tokens[at], "not") && !this.#comparesAt(at))) at++;
    const left = this.#tokens[at];
    return (left?.is === "word" || left?.is === "quoted") && this.#comparesAt(at);
  }

  /** Returns whether an operator of comparison follows the token at this place. */
  #comparesAt(at: number): boolean {
    const next = isWord(this.#tokens[at + 1], "not") ? at + 2 : at + 1;
    if (next === at + 2) return this.#negatableAt(next);
    return this.#negatableAt(next) || comparisonOf(this.#tokens[next]) !== null || this.#isEmptyAt(next);
  }

  /** Whether `not` may precede this token: `contains`, `matches`, `in (`. */
  #negatableAt(at: number): boolean {
    const op = this.#tokens[at]?.is === "word" ? comparisonOf(this.#tokens[at]) : null;
    return (
      op === "contains" || op === "matches" || (isWord(this.#tokens[at], "in") && this.#tokens[at + 1]?.is === "(")
    );
  }

  #isEmptyAt(at: number): boolean {
    if (!isWord(this.#tokens[at], "is")) return false;
    return isWord(this.#tokens[isWord(this.#tokens[at + 1], "not") ? at + 2 : at + 1], "empty");
  }
}

/** A number, or text that cannot be a name, is a literal. Any other word is looked up, and if it has no value, it is the word itself. */
function bareOperand(text: string): Operand {
  if (text.startsWith("file:")) return { from: "file", path: text.slice(5).trim() };
  return isNameLike(text) ? { from: "name", name: text } : { from: "literal", text };
}

function isNameLike(text: string): boolean {
  return text.length <= 100 && /^[\p{L}_][\p{L}\p{M}\p{N}_.\- ]*$/u.test(text);
}
