import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { openapiDocument } from "./openapi.ts";
import { problemCodes } from "./problem.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";

const table = Object.entries(routes) as [string, Route][];

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1, and every reference leads somewhere", async () => {
    const document = openapiDocument("1.2.3");
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(validator.version).toBe("3.1");
    const schemas = new Set(Object.keys((document.components as { schemas: object }).schemas));
    const referred = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to);
    for (const to of referred) expect(schemas, to).toContain(to?.replace("#/components/schemas/", ""));
    expect(JSON.stringify(document)).not.toContain("$defs");
  });

  it("has an operation for every route, with a schema for each parameter of its path", () => {
    const { paths } = openapiDocument("1.2.3") as { paths: Record<string, Record<string, { operationId: string }>> };
    for (const [name, route] of table) {
      expect(paths[route.path]?.[route.method.toLowerCase()]?.operationId).toBe(name);
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      expect(Object.keys(route.params?.shape ?? {}), name).toEqual(inPath);
    }
    expect(new Set(table.map(([, { method, path }]) => `${method} ${path}`)).size).toBe(table.length);
  });
});

describe("the route table", () => {
  it("lets nobody in without a key but to health, documents and the login", () => {
    const open = table.filter(([, { access }]) => access === "public").map(([name]) => name);
    expect(open.sort()).toEqual(["getDocs", "getLive", "getOpenapi", "getReady", "logIn"]);
  });

  it("knows every code it names, and every code has a status that fits", () => {
    for (const [, { problems = [] }] of table) for (const code of problems) expect(problemCodes[code]).toBeDefined();
    for (const [status] of Object.values(problemCodes)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
