/**
 * Fills `{{NAME}}` in a command of EXECUTE. A value is data, never shell code. It is quoted for the exact position of its placeholder. If
 * no quoting is safe there, the value must be harmless without quotes, or the step fails.
 *
 * Q1  The author's template is read as bash reads it. A filled command has the same quotes, words and here-documents in the same order,
 *     with the value inside one of them.
 * Q2  Bare: one word, quoted unless it is plain. In quotes: part of the quoted text. In a here-document: text that cannot end the document.
 *     In a comment: text on that line.
 * Q3  Where a shell would evaluate the value again (arithmetic, `${…}`, backquotes), only a number or a plain word is allowed. In code for
 *     another interpreter (`sh -c`, `python -c`, `awk`, `sed`, `eval`), only words without punctuation that could end a string are allowed.
 * Q4  `{{{NAME}}}` is inserted unchanged, as shell code, because the author decided so.
 */
type Surrounding =
  | "bare"
  | "double"
  | "single"
  | "ansi"
  | "comment"
  | "here"
  | "here quoted"
  | "number"
  | "plain"
  | "code";

export interface CommandPlace {
  readonly name: string;
  readonly raw: boolean;
  readonly stands: Surrounding;
  /** True for the word that names the program to run. */
  readonly first: boolean;
}

export type FilledCommand =
  | { readonly ok: true; readonly text: string; readonly unknown: readonly string[] }
  | { readonly ok: false; readonly name: string; readonly why: string };

const rawPlace = /\{\{\{[ \t]*([^{}\s](?:[^{}\r\n]{0,98}[^{}\s])?)[ \t]*\}\}\}/uy;
const place = /\{\{[ \t]*([^{}\s](?:[^{}\r\n]{0,98}[^{}\s])?)[ \t]*\}\}/uy;

/** A word that begins with a dash is not plain: inside `[[ ]]` an unquoted `-n` is an operator. */
const plainWord = /^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*$/;
const wholeNumber = /^[ \t]*-?[0-9]{1,18}[ \t]*$/;
const quietWords = /^[\p{L}\p{M}\p{N} _.,:@%+-]*$/u;

/** The text before a quoted string that another interpreter reads as code. */
const beforeCode =
  /(?:^|[\s;&|(/])(?:eval|trap|(?:ba|da|z|k|a|fi)?sh(?:[ \t]+-\S+)*[ \t]+-\w*c|(?:python[\d.]*|perl|ruby|node|php|lua|Rscript)(?:[ \t]+-\S+)*[ \t]+-{1,2}\w*|(?:g|m)?awk(?:[ \t]+-\S+)*|g?sed(?:[ \t]+-\S+)*|su(?:[ \t]+\S+)*[ \t]+-c|(?:ba|da|z|k|a)?sh[ \t]*<<<|bc[ \t]*<<<)[ \t]*$/;
/** Builtins that evaluate names and values again, including subscripts and commands inside them. */
const evaluating = /(?:^|[\s;&|(])(?:let|unset|printf[ \t]+-v)(?=\s)/;
const declaring = /(?:^|[\s;&|(])(?:declare|typeset|local|readonly|export)[ \t]+-(\w*)(?=\s)/g;
/** The beginning of a test, the end of a line or of brackets, and a test that reads a variable by its name. */
const testing = /\n|\]|(?<=^|[\s;&|(])(?:\[\[?|test)(?=[ \t])|(?<=[ \t])-[vR](?=\s)/g;

/** Returns whether the shell evaluates a name or value of the text again. */
function evaluates(text: string): boolean {
  if (evaluating.test(text)) return true;
  for (const [, flags = ""] of text.matchAll(declaring)) if (/[aAin]/.test(flags)) return true;
  let inTest = false;
  for (const [token] of text.matchAll(testing)) {
    if (inTest && token.startsWith("-")) return true;
    if (!token.startsWith("-")) inTest = token !== "\n" && token !== "]";
  }
  return false;
}

class Refused {
  readonly name: string;
  readonly why: string;
  constructor(name: string, why: string) {
    this.name = name;
    this.why = why;
  }
}

export function fillCommand(template: string, lookUp: (name: string) => string | null): FilledCommand {
  if (!template.includes("{{")) return { ok: true, text: template, unknown: [] };
  const unknown: string[] = [];
  const reader = new CommandReader(template, (found) => {
    const value = lookUp(found.name);
    if (value === null) unknown.push(found.name);
    return value;
  });
  const read = reader.read();
  return read instanceof Refused
    ? { ok: false, name: read.name, why: read.why }
    : { ok: true, text: read, unknown: [...new Set(unknown)] };
}

/** Lists the placeholders of a command with their surroundings, for checks before a workflow runs. */
export function commandPlaces(template: string): readonly CommandPlace[] {
  if (!template.includes("{{")) return [];
  const places: CommandPlace[] = [];
  new CommandReader(template, (found) => {
    places.push(found);
    return "0";
  }).read();
  return places;
}

type Level =
  /** `closes`: the bracket that ends this level; null means the end of the text. */
  | { readonly is: "bare"; readonly closes: ")" | null }
  | { readonly is: "double" | "single"; readonly code: boolean }
  | { readonly is: "ansi" | "comment" | "tick" }
  | { readonly is: "number" | "param"; readonly opens: string; readonly closes: string; depth: number };

interface Here {
  readonly end: string;
  readonly quoted: boolean;
  readonly tabs: boolean;
}

class CommandReader {
  readonly #text: string;
  readonly #look: (place: CommandPlace) => string | null;
  readonly #levels: Level[] = [{ is: "bare", closes: null }];
  readonly #here: Here[] = [];
  /** The template cannot be read reliably, so only plain values are allowed in every position. */
  readonly #unsure: boolean;
  /** Positions of the placeholders that `[[ … -eq … ]]` would evaluate. */
  readonly #compared: ReadonlySet<number>;
  #at = 0;
  #out = "";

  constructor(text: string, look: (place: CommandPlace) => string | null) {
    this.#text = text;
    this.#look = look;
    this.#unsure = evaluates(text) || (/\bcase\b/.test(text) && /\$\(|[<>]\(/.test(text));
    this.#compared = comparedPlaces(text);
  }

  read(): string | Refused {
    while (this.#at < this.#text.length) {
      const refused = this.#next();
      if (refused !== null) return refused;
    }
    return this.#out;
  }

  get #level(): Level {
    return this.#levels[this.#levels.length - 1] ?? { is: "bare", closes: null };
  }

  /** Copies characters of the template. */
  #copy(count: number): null {
    this.#out += this.#text.slice(this.#at, this.#at + count);
    this.#at += count;
    return null;
  }

  #open(level: Level, count: number): null {
    this.#levels.push(level);
    return this.#copy(count);
  }

  #close(count = 1): null {
    this.#levels.pop();
    return this.#copy(count);
  }

  #has(text: string, from = this.#at): boolean {
    return this.#text.startsWith(text, from);
  }

  #next(): Refused | null {
    const found = this.#placeAt(this.#at);
    if (found !== null) return this.#put(found);
    const level = this.#level;
    const char = this.#text.charAt(this.#at);
    switch (level.is) {
      case "single":
        return char === "'" ? this.#close() : this.#copy(1);
      case "comment":
        if (char !== "\n") return this.#copy(1);
        this.#levels.pop();
        return this.#newline();
      case "ansi":
        if (char === "\\") return this.#backslash();
        return char === "'" ? this.#close() : this.#copy(1);
      case "tick":
        if (char === "\\") return this.#backslash();
        return char === "`" ? this.#close() : this.#copy(1);
      case "double":
        if (char === "\\") return this.#backslash();
        if (char === '"') return this.#close();
        return this.#expansion(char) ? null : this.#copy(1);
      case "param":
      case "number":
        return this.#inside(level, char);
      case "bare":
        return this.#bare(level, char);
    }
  }

  /** Returns whether an expansion begins here. If so, the reader enters it. */
  #expansion(char: string): boolean {
    if (char === "`") this.#open({ is: "tick" }, 1);
    else if (char !== "$") return false;
    else if (this.#placeAt(this.#at + 1) !== null) this.#copy(1);
    else if (this.#has("$((")) this.#open({ is: "number", opens: "(", closes: ")", depth: 2 }, 3);
    else if (this.#has("$[")) this.#open({ is: "number", opens: "[", closes: "]", depth: 1 }, 2);
    else if (this.#has("$(")) this.#open({ is: "bare", closes: ")" }, 2);
    else if (this.#has("${")) this.#open({ is: "param", opens: "{", closes: "}", depth: 1 }, 2);
    else return false;
    return true;
  }

  /** Reads up to the closing bracket. Quotes inside are ignored, because only plain values are inserted here. */
  #inside(level: Extract<Level, { depth: number }>, char: string): null {
    if (char === "\\") return this.#backslash();
    if (char === level.opens) level.depth += 1;
    if (char === level.closes) level.depth -= 1;
    return level.depth === 0 ? this.#close() : this.#copy(1);
  }

  #bare(level: Extract<Level, { is: "bare" }>, char: string): Refused | null {
    switch (char) {
      case "\\":
        return this.#backslash();
      case "'":
        return this.#open({ is: "single", code: this.#isCode() }, 1);
      case '"':
        return this.#open({ is: "double", code: this.#isCode() }, 1);
      case "\n":
        return this.#newline();
      case "#":
        if (!/(?:^|[\s;&|()])$/.test(this.#before())) return this.#copy(1);
        return this.#open({ is: "comment" }, 1);
      case "(":
        if (this.#has("((")) return this.#open({ is: "number", opens: "(", closes: ")", depth: 2 }, 2);
        return this.#open({ is: "bare", closes: ")" }, 1);
      case ")":
        return level.closes === ")" ? this.#close() : this.#copy(1);
      case "<":
        return this.#has("<<") && !this.#has("<<<") ? this.#hereBegins() : this.#copy(this.#has("<<<") ? 3 : 1);
      case "$":
        if (this.#has("$'")) return this.#open({ is: "ansi" }, 2);
        if (this.#has('$"')) return this.#open({ is: "double", code: this.#isCode() }, 2);
    }
    return this.#expansion(char) ? null : this.#copy(1);
  }

  #isCode(): boolean {
    return beforeCode.test(this.#before());
  }

  /** The author's text before this point, as written. Inserted values do not influence how the rest is read. */
  #before(): string {
    return this.#text.slice(Math.max(0, this.#at - 200), this.#at);
  }

  /** Returns the `$` or `$NAME` right before this point, which an inserted value would extend; null if there is none. */
  #dollar(): string | null {
    const [, slashes = "", name] = /(\\*)\$(\w*)$/.exec(this.#before()) ?? [];
    return name === undefined || slashes.length % 2 === 1 ? null : name;
  }

  /**
   * A backslash before a placeholder would quote the first character of the value. In quotes it is doubled, so that it stays a backslash;
   * outside quotes it is dropped.
   */
  #backslash(): null {
    if (this.#placeAt(this.#at + 1) === null) return this.#copy(2);
    if (this.#level.is !== "bare") this.#out += "\\\\";
    this.#at += 1;
    return null;
  }

  #newline(): Refused | null {
    this.#copy(1);
    for (let here = this.#here.shift(); here !== undefined; here = this.#here.shift()) {
      const refused = this.#hereBody(here);
      if (refused !== null) return refused;
    }
    return null;
  }

  #hereBegins(): Refused | null {
    const found = /^<<(-?)[ \t]*((?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s;&|<>()'"\\])+)/.exec(this.#text.slice(this.#at));
    if (found === null) return this.#copy(2);
    const word = found[2] ?? "";
    const end = word.replace(/\\(.)|['"]/g, "$1");
    this.#here.push({ end, quoted: /['"\\]/.test(word), tabs: found[1] === "-" });
    return this.#copy(found[0].length);
  }

  #hereBody(here: Here): Refused | null {
    const begin = this.#at;
    const ends = (line: string) => (here.tabs ? line.replace(/^\t+/, "") : line) === here.end;
    let stop = begin;
    let names: string | null = null;
    for (;;) {
      const newline = this.#text.indexOf("\n", stop);
      const line = this.#text.slice(stop, newline < 0 ? undefined : newline);
      if (newline < 0 || ends(line)) {
        if (!ends(line)) stop = this.#text.length;
        break;
      }
      stop = newline + 1;
    }
    const body = this.#text.slice(begin, stop);
    const outside = this.#out;
    this.#out = "";
    const evaluated = !here.quoted && /`|\$[({[]/.test(body.replaceAll(/\$(?=\{\{)/g, ""));
    while (this.#at < stop) {
      const found = this.#placeAt(this.#at);
      if (found === null) {
        if (!here.quoted && this.#text.charAt(this.#at) === "\\") {
          if (this.#placeAt(this.#at + 1) === null) this.#copy(2);
          else {
            this.#out += "\\\\";
            this.#at += 1;
          }
        } else this.#copy(1);
        continue;
      }
      names ??= found.name;
      const stands: Surrounding = here.quoted ? "here quoted" : evaluated ? "plain" : "here";
      const refused = this.#put(found, stands);
      if (refused !== null) return refused;
    }
    const filled = this.#out;
    this.#out = outside + filled;
    // The author's own end marker comes after this body. An equal line inside the body would end the document too early.
    if (names !== null && filled.split("\n").some(ends)) {
      return new Refused(names, `a line of it is '${here.end}', which ends the here-document`);
    }
    return null;
  }

  #placeAt(at: number): { readonly name: string; readonly raw: boolean; readonly length: number } | null {
    if (!this.#has("{{", at)) return null;
    for (const [pattern, raw] of [
      [rawPlace, true],
      [place, false],
    ] as const) {
      pattern.lastIndex = at;
      const found = pattern.exec(this.#text);
      if (found !== null) return { name: found[1] ?? "", raw, length: found[0].length };
    }
    return null;
  }

  #put(
    found: { readonly name: string; readonly raw: boolean; readonly length: number },
    given?: Surrounding,
  ): Refused | null {
    const stands = this.#compared.has(this.#at) ? "number" : this.#unsure ? "plain" : (given ?? this.#stands());
    const first = this.#level.is === "bare" && given === undefined && /(?:^|[;&|(\n])[ \t]*$/.test(this.#before());
    const value = this.#look({ name: found.name, raw: found.raw, stands, first });
    if (value === null) {
      // The value is inserted unchanged: the brackets are not quotes, and the text between them is read normally.
      return this.#copy(found.raw ? 3 : 2);
    }
    const dollar = this.#dollar();
    this.#at += found.length;
    if (found.raw) {
      this.#out += value;
      return null;
    }
    return this.#quote(found.name, value, stands, dollar);
  }

  #stands(): Surrounding {
    const level = this.#level;
    switch (level.is) {
      case "double":
      case "single":
        return level.code ? "code" : level.is;
      case "param":
      case "tick":
        return "plain";
      case "bare":
        // A subscript is arithmetic. Code for another interpreter need not be in quotes.
        return /\w\[$/.test(this.#before()) ? "number" : this.#isCode() ? "code" : "bare";
      default:
        return level.is;
    }
  }

  #quote(name: string, value: string, stands: Surrounding, dollar: string | null): Refused | null {
    switch (stands) {
      case "bare":
        // A dollar sign before a quote would begin another kind of quote.
        if (dollar === "") this.#out = `${this.#out.slice(0, -1)}\\$`;
        this.#out += plainWord.test(value) && dollar === null ? value : singleQuoted(value);
        return null;
      case "double":
        this.#out += /["\\$`]/.test(value) || dollar !== null ? `"${singleQuoted(value)}"` : value;
        return null;
      case "single":
        this.#out += value.replaceAll("'", "'\\''");
        return null;
      case "ansi":
        this.#out += value.replaceAll(/[\\']/g, "\\$&");
        return null;
      case "comment":
        this.#out += value.replaceAll(/[\r\n]+/g, " ");
        return null;
      case "here":
        if (dollar === "") this.#out = `${this.#out.slice(0, -1)}\\$`;
        else if (dollar !== null) this.#out = `${this.#out.slice(0, -dollar.length)}{${dollar}}`;
        this.#out += value.replaceAll(/[\\$`]/g, "\\$&");
        return null;
      case "here quoted":
        this.#out += value;
        return null;
      case "number":
        if (!wholeNumber.test(value))
          return new Refused(name, "only a whole number is allowed where the shell calculates");
        this.#out += value.trim();
        return null;
      case "plain":
        if (!plainWord.test(value))
          return new Refused(name, "only a plain word is allowed where the shell evaluates the value again");
        this.#out += value;
        return null;
      case "code":
        if (!quietWords.test(value)) {
          const why = "it would become part of a program's code; pass it as a separate argument";
          return new Refused(name, why);
        }
        this.#out += this.#level.is === "bare" && !plainWord.test(value) ? singleQuoted(value) : value;
        return null;
    }
  }
}

function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** Finds the placeholders in `[[ A -eq B ]]`: the shell calculates both sides, even if they are quoted. */
function comparedPlaces(text: string): Set<number> {
  const places = new Set<number>();
  for (let from = text.indexOf("[["); from >= 0; ) {
    const to = text.indexOf("]]", from + 2);
    if (to < 0) break;
    for (const operator of text.slice(from, to).matchAll(/\s-(?:eq|ne|lt|le|gt|ge)\s+/g)) {
      const end = from + text.slice(from, from + operator.index).trimEnd().length;
      let start = end;
      while (start > from && /\S/.test(text[start - 1] ?? " ")) start -= 1;
      const after = from + operator.index + operator[0].length;
      const next = /^\S*/.exec(text.slice(after))?.[0] ?? "";
      for (const [at, word] of [
        [start, text.slice(start, end)],
        [after, next],
      ] as const) {
        for (const found of word.matchAll(/\{\{\{?/g)) places.add(at + found.index);
      }
    }
    from = text.indexOf("[[", to + 2);
  }
  return places;
}
