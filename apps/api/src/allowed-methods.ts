/**
 * Finds the methods of an address, or null if no route has the address. So a wrong method gives 405 and a wrong address 404.
 *
 * `routes` are written in the router's form: `:name` stands for one part of a path, `*` for the rest of it. A route for every address (the
 * preflight of CORS) is ignored.
 */
export function allowedMethods(
  routes: readonly { readonly method: string; readonly url: string }[],
  path: string,
): string[] | null {
  const given = path.split("/");
  const methods = routes.filter(({ url }) => fits(url.split("/"), given)).map(({ method }) => method);
  return methods.length === 0 ? null : [...new Set(methods)].sort();
}

function fits(parts: readonly string[], given: readonly string[]): boolean {
  if (parts[0] === "*") return false;
  const open = parts.at(-1) === "*";
  if (open ? given.length < parts.length : given.length !== parts.length) return false;
  return parts.every(
    (part, index) => part === given[index] || part === "*" || (part.startsWith(":") && given[index] !== ""),
  );
}
