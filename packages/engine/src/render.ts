/**
 * `{{NAME}}` places are filled in one pass from left to right. A value that is put in is never looked at again (I7), and a name
 * without a value stays as it was written.
 */
const place = /\{\{[ \t]*([^{}\s](?:[^{}\r\n]{0,98}[^{}\s])?)[ \t]*\}\}/gu;

export interface Rendered {
  readonly text: string;
  readonly unknown: readonly string[];
}

export function render(template: string, lookUp: (name: string) => string | null): Rendered {
  if (!template.includes("{{")) return { text: template, unknown: [] };
  const unknown: string[] = [];
  const text = template.replace(place, (written: string, name: string) => {
    const value = lookUp(name);
    if (value === null) unknown.push(name);
    return value ?? written;
  });
  return { text, unknown };
}

/** Names a template asks for, in order, each once. */
export function placesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(place)].map((match) => match[1] ?? ""))];
}
