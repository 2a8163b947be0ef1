/** Where a request went, for the log. Its query may have names in it. */
export function pathOf({ url }: { readonly url: string }): string {
  return (url.split("?")[0] ?? "").slice(0, 500);
}
