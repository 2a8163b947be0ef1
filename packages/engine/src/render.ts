/**
 * `{{NAME}}` places are filled in one pass from left to right. A value that is put in is never looked at again (I7), and a name
 * without a value stays as it was written.
 */
const place = /\{\{[ \t]*([^{}\s](?:[^{}\r\n]{0,98}[^{}\s])?)[ \t]*\}\}/gu;

export interface Rendered {
  readonly text: string;
  readonly unknown: readonly string[];
}

/** `allow` is told the length before the text is built, and throws where that is too much. */
export function render(
  template: string,
  lookUp: (name: string) => string | null,
  allow: (length: number) => void = () => undefined,
): Rendered {
  if (!template.includes("{{")) {
    allow(template.length);
    return { text: template, unknown: [] };
  }
  const unknown: string[] = [];
  const parts: string[] = [];
  let length = template.length;
  let from = 0;
  for (const match of template.matchAll(place)) {
    const [written, name = ""] = match;
    const value = lookUp(name);
    if (value === null) {
      unknown.push(name);
      continue;
    }
    length += value.length - written.length;
    parts.push(template.slice(from, match.index), value);
    from = match.index + written.length;
  }
  allow(length);
  parts.push(template.slice(from));
  return { text: parts.join(""), unknown };
}

/** Names a template asks for, in order, each once. */
export function placesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(place)].map((match) => match[1] ?? ""))];
}
