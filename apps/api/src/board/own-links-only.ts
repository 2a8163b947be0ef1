/** Bull Board's page asks Google for its fonts. People who operate an installation need no outside server for its board, and none hears of them. */
export function ownLinksOnly(html: string): string {
  return html.replaceAll(/<link href="https?:[^<>]*>\n?/g, "");
}
