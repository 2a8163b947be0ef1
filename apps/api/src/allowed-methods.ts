/** Finds the methods of an address; null if no route has the address. A wrong method is then 405 and a wrong address 404. */
import type { Route } from "@markmill/contract";

export function allowedMethods(routes: Readonly<Record<string, Route>>): (path: string) => string[] | null {
  const byPath = Map.groupBy(Object.values(routes), ({ path }) => path);
  const known = [...byPath].map(([path, those]) => ({
    parts: path.split("/"),
    methods: those.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])),
  }));
  return (path) => {
    const given = path.split("/");
    const found = known.filter(
      ({ parts }) =>
        parts.length === given.length &&
        parts.every((part, index) => part === given[index] || (part.startsWith("{") && given[index] !== "")),
    );
    return found.length === 0 ? null : [...new Set(found.flatMap(({ methods }) => methods))].sort();
  };
}
