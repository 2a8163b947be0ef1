/** Which methods an address takes; null: no route has it. So that a wrong method is told from a wrong address. */
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
