// Escapes the text of students and models in reports. All text that is not ours passes one of these functions.

/** For HTML text and attributes. Invisible and direction-changing characters are made visible, because they can hide text. */
export function html(text: string): string {
  return visible(text).replaceAll(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** For Markdown: the result contains no heading, link, picture, HTML or table separator. One line. */
export function markdown(text: string): string {
  return (
    visible(text)
      .replaceAll(/\s+/g, " ")
      .trim()
      .replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, (char) =>
        char === "<" ? "&lt;" : char === ">" ? "&gt;" : char === "&" ? "&amp;" : `\\${char}`,
      )
      .replaceAll(/^(\d+)([.)])/g, "$1\\$2")
      .replace(/^-/, "\\-")
      // Renderers also turn bare addresses into links.
      .replaceAll(/(https?|ftp|mailto|www)([:.])/gi, "$1\u200b$2")
  );
}

/** A code block with a fence that is longer than any in the text. */
export function codeBlock(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${visible(text)}\n${fence}`;
}

export function visible(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
      char === "\n" || char === "\t"
        ? char
        : char === "\r"
          ? ""
          : `\u27e8${(char.codePointAt(0) ?? 0).toString(16)}\u27e9`,
    );
}
