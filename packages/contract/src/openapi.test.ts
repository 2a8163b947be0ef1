import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { openapiDocument } from "./openapi.ts";
import { problemCodes } from "./problem.ts";
import { requestExamples } from "./request-examples.ts";
import type { Route } from "./route.ts";
import { type RouteName, routes } from "./routes.ts";
import { newWebhook, webhookBodies } from "./webhook-schemas.ts";

const table = Object.entries(routes) as [string, Route][];

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1, and every reference has a target", async () => {
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

  it("has an operation for every route, with a schema for each path parameter", () => {
    const { paths } = openapiDocument("1.2.3") as { paths: Record<string, Record<string, { operationId: string }>> };
    for (const [name, route] of table) {
      expect(paths[route.path]?.[route.method.toLowerCase()]?.operationId).toBe(name);
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      expect(Object.keys(route.params?.shape ?? {}), name).toEqual(inPath);
    }
    expect(new Set(table.map(([, { method, path }]) => `${method} ${path}`)).size).toBe(table.length);
  });
});

interface Shown {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly required: boolean; readonly description?: string }[];
  readonly responses: Readonly<
    Record<
      string,
      { readonly headers?: object; readonly content?: Readonly<Record<string, { readonly example?: unknown }>> }
    >
  >;
}
const { paths: shownPaths } = openapiDocument("1.2.3") as { paths: Record<string, Record<string, Shown>> };
const shown = Object.values(shownPaths).flatMap((methods) => Object.values(methods));

describe("the descriptions in the OpenAPI document", () => {
  it("include every description of the schemas", () => {
    const folder = import.meta.dirname;
    const text = JSON.stringify(openapiDocument("1.2.3"));
    const sources = readdirSync(folder).filter((file) => /(-schemas|values)\.ts$/.test(file));
    const described = sources.flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(/describe\(\s*("(?:[^"\\]|\\.)*")/g)].map(
        ([, literal = '""']) => literal,
      ),
    );
    expect(described.length).toBeGreaterThan(120);
    expect(described.filter((literal) => !text.includes(literal.slice(1, -1)))).toEqual([]);
  });

  it("cover every parameter, and state which ones are required", () => {
    for (const { operationId, parameters = [] } of shown) {
      for (const { name, description } of parameters) expect(description, `${operationId} ${name}`).toBeTruthy();
    }
    const tries = shown.find(({ operationId }) => operationId === "listTries");
    expect(tries?.parameters?.filter(({ required }) => required).map(({ name }) => name)).toEqual(["id", "work"]);
    expect(tries?.parameters?.find(({ name }) => name === "work")).toMatchObject({ example: "ada@example.edu" });
  });

  it("include an example of every request body that matches its schema", () => {
    const takers = table.filter(([, { body }]) => body !== undefined).map(([name]) => name);
    expect(Object.keys(requestExamples).sort()).toEqual(takers.sort());
    for (const [name, { body }] of table) {
      if (body === undefined) continue;
      const read = body.safeParse(requestExamples[name as RouteName]);
      expect(read.error?.issues ?? [], name).toEqual([]);
    }
  });

  it("include an example of every answer that matches its schema", () => {
    for (const [name, { answer }] of table) {
      if (answer.kind !== "json") continue;
      const operation = shown.find(({ operationId }) => operationId === name);
      const example = operation?.responses[answer.status]?.content?.["application/json"]?.example;
      expect(answer.schema.safeParse(example).error?.issues ?? [], name).toEqual([]);
    }
  });

  it("cover the body of every webhook delivery, with a valid example", () => {
    type Told = { post: { requestBody: { content: { "application/json": { schema: object; example: unknown } } } } };
    const { webhooks } = openapiDocument("1.2.3") as { webhooks: Record<string, Told> };
    const events = Object.keys(webhookBodies);
    expect(events).toEqual([...newWebhook.shape.events.element.options, "webhook.test"]);
    expect(Object.keys(webhooks)).toEqual(events);
    for (const [type, body] of Object.entries(webhookBodies)) {
      const { schema, example } = webhooks[type]?.post.requestBody.content["application/json"] ?? {};
      expect(schema).toEqual({ $ref: expect.stringContaining("Told") });
      expect(body.safeParse(example).error?.issues ?? [], type).toEqual([]);
    }
  });

  it("name the headers of every answer", () => {
    for (const { operationId, responses } of shown) {
      for (const [status, { headers }] of Object.entries(responses)) {
        expect(Object.keys(headers ?? {}), `${operationId} ${status}`).toContain("x-request-id");
      }
    }
    const start = shown.find(({ operationId }) => operationId === "startRun");
    expect(Object.keys(start?.responses[201]?.headers ?? {})).toContain("location");
    expect(Object.keys(start?.responses[429]?.headers ?? {})).toContain("retry-after");
    const headerOf = (name: string, status: number) =>
      Object.keys(shown.find(({ operationId }) => operationId === name)?.responses[status]?.headers ?? {});
    expect(headerOf("recordGrade", 201)).toContain("etag");
    expect(headerOf("logIn", 200)).toContain("set-cookie");
  });

  it("include a separate schema for each type of event", () => {
    const { schemas } = openapiDocument("1.2.3").components as { schemas: Record<string, { oneOf?: unknown[] }> };
    expect(schemas.RunEvent?.oneOf).toHaveLength(11);
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(["RunStartedEvent", "AskExpiredEvent", "StreamEnd"]));
    expect(Object.keys(schemas).filter((name) => name.startsWith("__"))).toEqual([]);
  });
});

it("docs/api.md names every problem code with its status", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/api.md"), "utf8");
  const rows = page.split("\n").filter((line) => /^\| \d{3}/.test(line));
  for (const [code, [status]] of Object.entries(problemCodes)) {
    const row = rows.find((line) => new RegExp(`\\b${code}\\b`).test(line));
    expect(row?.split("|")[1], code).toContain(String(status));
  }
});

describe("the route table", () => {
  it("requires a key except for health, documents and the login", () => {
    const open = table.filter(([, { access }]) => access === "public").map(([name]) => name);
    expect(open.sort()).toEqual(["getDocs", "getLive", "getOpenapi", "getReady", "logIn"]);
  });

  it("names only defined problem codes, and every code has an error status", () => {
    for (const [, { problems = [] }] of table) for (const code of problems) expect(problemCodes[code]).toBeDefined();
    for (const [status] of Object.values(problemCodes)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
