/**
 * Cleans the address of a model endpoint that people paste with spaces, quotes, a trailing slash, or the path of one request.
 *
 * A1  Paths such as /chat/completions are appended to the result.
 * A2  A query stays: some gateways need one, such as Azure's api-version.
 * A3  A text that is no address is returned trimmed, so that a message can show it.
 */
const around = /[\s"'`<>“”‘’„«»\ufeff\u200b]/u;
const paths = ["/chat/completions", "/completions", "/embeddings", "/responses", "/models"];

export function modelAddress(given: string): string {
  const text = withoutMarks(given);
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return text;
  const [address = "", query] = text.split("#", 1)[0]?.split("?", 2) ?? [];
  let base = withoutSlashes(address);
  const path = paths.find((one) => base.toLowerCase().endsWith(one));
  if (path !== undefined) base = withoutSlashes(base.slice(0, -path.length));
  return query === undefined || query === "" ? base : `${base}?${query}`;
}

function withoutMarks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && around.test(text.charAt(from))) from += 1;
  while (to > from && around.test(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function withoutSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}
