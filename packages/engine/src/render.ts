/**
 * Fills `{{NAME}}` placeholders in one pass from left to right. An inserted value is never expanded again (I7). A name without a value
 * stays as written.
 */
const place = /\{\{[ \t]*([^{}\s](?:[^{}\r\n]{0,98}[^{}\s])?)[ \t]*\}\}/gu;

export interface Rendered {
  readonly text: string;
  readonly unknown: readonly string[];
}

/** `allow` receives the length before the text is built, and throws if the text would be too long. */
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

/** Lists the placeholder names of a template, in order, each once. */
export function placesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(place)].map((match) => match[1] ?? ""))];
}
