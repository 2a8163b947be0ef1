/**
 * Splits a prompt at its placeholders, `{name}` and `{{name}}`, into parts: literal text, and inputs of the task. The placeholders are
 * found once, from left to right, when the file is loaded. Inserted values are never expanded again (I7). Only names of declared inputs are
 * placeholders.
 */
import type { Operand } from "@markmill/engine";

type Part = Operand & { readonly from: "literal" | "read" };

export interface Filled {
  readonly operand: Operand;
  /** Placeholders without an input, each once, if they look like names. */
  readonly undeclared: readonly string[];
}

const place = /\{\{([^{}\r\n]{1,200})\}\}|\{([^{}\r\n]{1,200})\}/g;
const nameLike = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const mostUndeclared = 20;

export function fillMessage(text: string, inputs: ReadonlySet<string>, keepBraces: boolean): Filled {
  const parts: Part[] = [];
  const undeclared = new Set<string>();
  let literal = "";
  let from = 0;
  const say = (more: string) => {
    literal += more;
  };
  for (const match of text.matchAll(place)) {
    const [written, doubled, single = ""] = match;
    const name = doubled ?? single;
    if (!inputs.has(name)) {
      const dollar = text[match.index - 1] === "$";
      if (nameLike.test(name) && !dollar && undeclared.size < mostUndeclared) undeclared.add(name);
      continue;
    }
    const braces = doubled !== undefined && keepBraces;
    say(text.slice(from, match.index));
    if (braces) say("{");
    if (literal !== "") parts.push({ from: "literal", text: literal });
    parts.push({ from: "read", name });
    literal = braces ? "}" : "";
    from = match.index + written.length;
  }
  say(text.slice(from));
  if (literal !== "" || parts.length === 0) parts.push({ from: "literal", text: literal });
  const [only] = parts;
  const operand: Operand = parts.length === 1 && only !== undefined ? only : { from: "joined", of: parts };
  return { operand, undeclared: [...undeclared] };
}
