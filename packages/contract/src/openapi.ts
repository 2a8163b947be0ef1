/** Generates the OpenAPI 3.1 document from the route table. */
import { z } from "zod";
import { nameOf } from "./named.ts";
import { makeProblem, type ProblemCode, problem, problemCodes } from "./problem.ts";
import { requestExamples } from "./request-examples.ts";
import type { Route } from "./route.ts";
import { type RouteName, routes } from "./routes.ts";
import { sampleOf } from "./sample-of.ts";
import { webhookBodies } from "./webhook-schemas.ts";

type Json = { [key: string]: unknown };

/** Problems that any route may return. Others follow from a route's parts and access. */
const always: readonly ProblemCode[] = ["RATE_LIMITED", "INTERNAL", "UNAVAILABLE"];

export function openapiDocument(version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  const problemRef = schemaOf(problem, "output", schemas);
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
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
      description:
        "Start runs of AI workflows, follow them, answer their questions, grade classes, and operate the server.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: [...new Set(Object.values(routes).map(({ tag }) => tag))].map((tag) => ({ name: tag })),
    security: [{ key: [] }, { session: [] }],
    paths,
    webhooks: webhooksOf(schemas),
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

function operation(name: RouteName, route: Route, schemas: Json, problemRef: Json): Json {
  const { params, query, headers, body, upload, access } = route;
  const codes = new Set<ProblemCode>([...always, ...(route.problems ?? [])]);
  if (access !== "public") codes.add("UNAUTHENTICATED").add("FORBIDDEN");
  if (params !== undefined) codes.add("NOT_FOUND");
  // Every route refuses unknown query parameters.
  codes.add("INVALID");
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
            example: requestExamples[name],
          },
        }
      : {
          "application/octet-stream": { schema: binary },
          "multipart/form-data": { schema: { type: "object", required: ["file"], properties: { file: binary } } },
        };
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
    responses: { ...success(route, schemas), ...failures(codes, problemRef) },
  };
}

/** The requests that are sent to a webhook. */
function webhooksOf(schemas: Json): Json {
  const parameters = Object.entries(signatureHeaders).map(([name, description]) => ({
    name,
    in: "header",
    required: true,
    description,
    schema: text,
  }));
  return Object.fromEntries(
    Object.entries(webhookBodies).map(([type, body]) => {
      const schema = schemaOf(body, "output", schemas);
      const name = type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
      return [
        type,
        {
          post: {
            operationId: `tell${name}`,
            tags: ["Webhooks"],
            summary: body.description,
            security: [],
            parameters,
            requestBody: {
              required: true,
              content: { "application/json": { schema, example: sampleOf(schema, schemas) } },
            },
            responses: {
              "2XX": { description: "The event was delivered." },
              410: { description: "The event is not sent again." },
              default: { description: "The event is sent again, ten times over two days." },
            },
          },
        },
      ];
    }),
  );
}

const signatureHeaders = {
  "webhook-id": "Id of the event; the same when the event is sent again.",
  "webhook-timestamp": "Time of sending, in seconds since 1970.",
  "webhook-signature": "`v1,` and the signature according to the Standard Webhooks specification.",
};
const binary = { type: "string", format: "binary" };
const text = { type: "string" };
const requestIdHeader = {
  "x-request-id": { description: "Identifies the request in the server's log.", schema: text },
};
const limitHeaders = {
  "x-ratelimit-limit": {
    description: "Number of requests that the caller may send per minute.",
    schema: { type: "integer" },
  },
  "x-ratelimit-remaining": { description: "Number of requests left in this minute.", schema: { type: "integer" } },
  "x-ratelimit-reset": { description: "Seconds until the minute ends.", schema: { type: "integer" } },
};
const etagHeader = {
  etag: {
    description: "Changes with the answer. Send it as If-None-Match to get 304 if nothing has changed.",
    schema: text,
  },
};
const stateHeader = { etag: { description: "Version of the resource. Send it as If-Match.", schema: text } };
const cookieHeader = {
  "set-cookie": { description: "The session's cookie. An empty cookie ends the session.", schema: text },
};
const locationHeader = { location: { description: "Address of the created resource.", schema: text } };

function headersOf({ method, answer, location, etag, cookie }: Route): Json {
  return {
    ...requestIdHeader,
    ...limitHeaders,
    ...(method === "GET" && answer.kind === "json" ? etagHeader : {}),
    ...(etag === true ? stateHeader : {}),
    ...(location === true ? locationHeader : {}),
    ...(cookie === true ? cookieHeader : {}),
    ...(answer.kind === "bytes"
      ? { "content-disposition": { description: "The name of the file.", schema: text } }
      : {}),
  };
}

function success(route: Route, schemas: Json): Json {
  const { answer } = route;
  const headers = headersOf(route);
  const one = (content?: Json, description = "Done") => ({
    description,
    headers,
    ...(content === undefined ? {} : { content }),
  });
  switch (answer.kind) {
    case "json": {
      const schema = schemaOf(answer.schema, "output", schemas);
      const content = { "application/json": { schema, example: sampleOf(schema, schemas) } };
      return {
        [answer.status]: one(content),
        ...(answer.also === undefined
          ? {}
          : { [answer.also]: one(content, answer.also === 503 ? "Not ready" : "The resource already existed") }),
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
      const end = schemaOf(answer.end, "output", schemas);
      const others = Object.values(answer.others ?? {}).map((one) => schemaOf(one, "output", schemas));
      return {
        200: one({
          "text/event-stream": {
            schema: {
              description: "`data` of each event, as JSON; the event `end` is the last",
              anyOf: [data, ...others, end],
            },
          },
        }),
        204: { description: "The stream has ended, and the client has received all events", headers: requestIdHeader },
      };
    }
  }
}

const failureHeaders: Readonly<Record<number, Json>> = {
  401: { "www-authenticate": { description: "The accepted method of authentication.", schema: text } },
  429: {
    ...limitHeaders,
    "retry-after": { description: "Seconds to wait before the next request.", schema: { type: "integer" } },
  },
  503: { "retry-after": { description: "Seconds to wait before the next request.", schema: { type: "integer" } } },
};

function failures(codes: ReadonlySet<ProblemCode>, problemRef: Json): Json {
  const byStatus = Map.groupBy([...codes], (code) => problemCodes[code][0]);
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      status,
      {
        description: same.join(", "),
        headers: { ...requestIdHeader, ...failureHeaders[status] },
        content: {
          "application/problem+json": {
            schema: problemRef,
            examples: Object.fromEntries(same.map((code) => [code, { value: makeProblem(code) }])),
          },
        },
      },
    ]),
  );
}

function parametersOf(place: "path" | "query" | "header", schema: z.ZodObject | undefined, schemas: Json): Json[] {
  if (schema === undefined) return [];
  const whole = schemaOf(schema, "input", schemas) as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(whole.properties ?? {}).map(([name, found]) => {
    const { description, ...rest } = found;
    return {
      name,
      in: place,
      required: place === "path" || whole.required?.includes(name) === true,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      // Without an example, a request built from the document is refused.
      ...(place === "query" && whole.required?.includes(name) === true
        ? { example: sampleOf(rest, schemas, name) }
        : {}),
    };
  });
}

/** Named schemas become components; references point to the components. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      // Zod omits the default if a text is parsed into the value.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue as never;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // Answers may gain fields, and a client must not break on them.
      if (io === "output") delete jsonSchema.additionalProperties;
    },
  }) as Json & { $defs?: Record<string, Json> };
  for (const [id, found] of Object.entries($defs ?? {})) schemas[id] ??= pointed(withoutId(found));
  const id = nameOf(schema);
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
