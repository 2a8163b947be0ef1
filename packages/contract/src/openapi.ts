/** The OpenAPI 3.1 document, written from the route table. */
import { z } from "zod";
import { names } from "./named.ts";
import { type ProblemCode, problem, problemCodes } from "./problem.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";

type Json = { [key: string]: unknown };

/** What any route may answer: by what it takes and who may use it. */
const always: readonly ProblemCode[] = ["RATE_LIMITED", "INTERNAL", "UNAVAILABLE"];

export function openapiDocument(version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  const problemRef = schemaOf(problem, "output", schemas);
  for (const [name, route] of Object.entries(routes) as [string, Route][]) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, {
      [route.method.toLowerCase()]: operation(name, route, schemas, problemRef),
    });
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Markmill",
      version,
      description: "Start runs of AI workflows, follow them, answer their questions, and operate the mill.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(Object.values(routes).map(({ tag }) => tag))].map((tag) => ({ name: tag })),
    security: [{ key: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "An API key: Authorization: Bearer mm_…" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "markmill_session",
          description: "__Host-markmill_session over https",
        },
      },
      schemas: sorted(schemas),
    },
  };
}

function operation(name: string, route: Route, schemas: Json, problemRef: Json): Json {
  const { params, query, headers, body, upload, answer, access } = route;
  const codes = new Set<ProblemCode>([...always, ...(route.problems ?? [])]);
  if (access !== "public") codes.add("UNAUTHENTICATED").add("FORBIDDEN");
  if (params !== undefined) codes.add("NOT_FOUND");
  if (body !== undefined || query !== undefined || headers !== undefined) codes.add("INVALID");
  if (body !== undefined || upload === true) codes.add("TOO_LARGE").add("UNSUPPORTED_TYPE");
  const parameters = [
    ...parametersOf("path", params, schemas),
    ...parametersOf("query", query, schemas),
    ...parametersOf("header", headers, schemas),
  ];
  const content =
    body !== undefined
      ? {
          "application/json": {
            schema: schemaOf(body instanceof z.ZodOptional ? (body.unwrap() as z.ZodType) : body, "input", schemas),
          },
        }
      : { "application/octet-stream": { schema: { type: "string", format: "binary" } } };
  return {
    operationId: name,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(access === "public" ? { security: [] } : {}),
    ...(access === "public" || access === "anybody" ? {} : { "x-scope": access }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined && upload !== true
      ? {}
      : { requestBody: { required: upload === true || !(body instanceof z.ZodOptional), content } }),
    responses: { ...success(answer, schemas), ...failures(codes, problemRef) },
  };
}

function success(answer: Route["answer"], schemas: Json): Json {
  const one = (content?: Json, description = "Done") => ({
    description,
    ...(content === undefined ? {} : { content }),
  });
  switch (answer.kind) {
    case "json": {
      const content = { "application/json": { schema: schemaOf(answer.schema, "output", schemas) } };
      return {
        [answer.status]: one(content),
        ...(answer.also === undefined
          ? {}
          : { [answer.also]: one(content, answer.also === 503 ? "Not ready" : "It was there before") }),
      };
    }
    case "none":
      return { 204: one() };
    case "text":
      return { 200: one({ [mediaType(answer.type)]: { schema: { type: "string" } } }) };
    case "bytes":
      return { 200: one({ [answer.type]: { schema: { type: "string", format: "binary" } } }) };
    case "events": {
      const data = schemaOf(answer.schema, "output", schemas);
      return {
        200: one({
          "text/event-stream": {
            schema: { type: "string", description: "`data` of every event", contentSchema: data },
          },
        }),
        204: { description: "It has ended, and the client has seen all of it" },
      };
    }
  }
}

function failures(codes: ReadonlySet<ProblemCode>, problemRef: Json): Json {
  const byStatus = Map.groupBy([...codes], (code) => problemCodes[code][0]);
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      status,
      { description: same.join(", "), content: { "application/problem+json": { schema: problemRef } } },
    ]),
  );
}

function parametersOf(place: "path" | "query" | "header", schema: z.ZodObject | undefined, schemas: Json): Json[] {
  if (schema === undefined) return [];
  const whole = schemaOf(schema, "input", schemas) as { properties?: Record<string, Json> };
  return Object.entries(whole.properties ?? {}).map(([name, found]) => {
    const { description, ...rest } = found;
    return {
      name,
      in: place,
      // Whatever may be left out says so by having a default, or by being optional; only paths need their parameters.
      required: place === "path",
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

/** Named schemas become components; what refers to them refers to those. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    metadata: names,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // Answers may gain fields: a client must not break on them.
      if (io === "output") delete jsonSchema.additionalProperties;
    },
  }) as Json & { $defs?: Record<string, Json> };
  for (const [id, found] of Object.entries($defs ?? {})) schemas[id] ??= pointed(withoutId(found));
  const id = names.get(schema)?.id;
  if (id === undefined) return pointed(rest) as Json;
  schemas[id] ??= pointed(withoutId(rest));
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId({ $id: _, id: __, ...rest }: Json): Json {
  return rest;
}

function pointed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === "$ref" && typeof inner === "string"
        ? [key, inner.replace("#/$defs/", "#/components/schemas/")]
        : [key, pointed(inner)],
    ),
  );
}

function mediaType(type: string): string {
  return type.split(";")[0] ?? type;
}

function sorted(value: Json): Json {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
