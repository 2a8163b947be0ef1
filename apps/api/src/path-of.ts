/** The path of a request, for the log. The query is left out because it may contain names. */
export function pathOf({ url }: { readonly url: string }): string {
  return (url.split("?")[0] ?? "").slice(0, 500);
}
