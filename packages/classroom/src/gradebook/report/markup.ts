// Text of students and models in reports. Everything that is not ours passes one of these.

/** For HTML, text and attributes alike. Invisible and direction-changing characters are shown, since they hide things. */
export function html(text: string): string {
  return visible(text).replaceAll(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** For Markdown: nothing in it is a heading, a link, a picture, HTML or a table's bar. One line. */
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
      // Renderers make links of bare addresses too.
      .replaceAll(/(https?|ftp|mailto|www)([:.])/gi, "$1\u200b$2")
  );
}

/** A code block whose fence is longer than any in the text. */
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
