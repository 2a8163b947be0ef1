/** Reads `custom_tool`, one object, and `custom_tools`, a list with modes. */
import type { Json } from "@markmill/engine";
import { plainJson } from "../../parse-json.ts";
import { schemaProblem, withLowerTypes } from "./check-schema.ts";
import { Fields, type Reading, wrong } from "./json-fields.ts";
import type { CustomTool } from "./task-file.ts";

type HttpTool = Extract<CustomTool["how"], { mode: "http" }>;
const methods: readonly HttpTool["method"][] = ["GET", "POST", "PUT", "DELETE"];
const toolName = /^[a-z_][a-z0-9_-]{0,63}$/;

export function readCustomTools(
  config: Fields,
  reading: Reading,
  marks: { s: boolean; h: boolean },
): readonly CustomTool[] {
  const one = config.object("custom_tool", "config.custom_tool");
  const several = config.has("custom_tools");
  if (one !== undefined && several) {
    const message = "config contains both custom_tool and custom_tools.";
    wrong(reading, "FIELD_TWICE", config.placeOf("custom_tools"), message, "Move the single tool into the list.");
  }
  const tools: (CustomTool | null)[] = [];
  if (one !== undefined) {
    marks.s = true;
    tools.push(readTool(one, "http_request", reading));
  }
  if (several) {
    marks.h = true;
    for (const fields of config.objects("custom_tools", (index) => `custom tool ${index + 1}`)) {
      if (!fields.has("mode")) fields.missing("mode", 'Add "mode": custom or http_request.');
      const mode = fields.oneOf("mode", ["custom", "http_request"] as const);
      tools.push(readTool(fields, mode?.value ?? null, reading));
    }
  }
  const named = new Set<string>();
  return tools.filter((tool): tool is CustomTool => {
    if (tool === null) return false;
    if (named.has(tool.name)) {
      const message = `Two tools would be named ${tool.name} for the model.`;
      wrong(reading, "TOOL_DEFINED_TWICE", tool.at, message, "Rename one of them.");
    }
    named.add(tool.name);
    return true;
  });
}

function readTool(fields: Fields, mode: "custom" | "http_request" | null, reading: Reading): CustomTool | null {
  const written = fields.needText("name");
  const description = fields.needText("description");
  const how = mode === null ? null : mode === "custom" ? readDeclared(fields, reading) : readRequest(fields, reading);
  if (mode !== null) fields.done();
  if (written === undefined) return null;
  // The name is converted to the usual form of function names, which models know best.
  const name = written.value.trim().toLowerCase().replaceAll(/\s+/g, "_");
  if (!toolName.test(name)) {
    const message = `'${written.value.slice(0, 80)}' is not a name for a tool.`;
    const fix = "Use up to 64 letters, digits, underscores and hyphens, a letter first.";
    wrong(reading, "NAME_RESERVED", written.at, message, fix);
    return null;
  }
  if (description === undefined || how === null) return null;
  return { name, description: description.value, how, at: written.at };
}

function readDeclared(fields: Fields, reading: Reading): CustomTool["how"] | null {
  if (!fields.has("parameters")) fields.missing("parameters", 'Add "parameters": a JSON Schema of the arguments.');
  const value = fields.get("parameters");
  if (value === undefined) return null;
  const schema: Json = withLowerTypes(plainJson(value));
  const problem = value.is === "object" ? schemaProblem(schema) : "it is not an object";
  if (problem === null) return { mode: "declared", schema };
  const message = `parameters of ${fields.what} cannot be used: ${problem}.`;
  wrong(reading, "SCHEMA_INVALID", value.at, message, "Write a JSON Schema of the arguments.");
  return null;
}

function readRequest(fields: Fields, reading: Reading): HttpTool | null {
  const url = fields.needText("url");
  const method = fields.needText("method", `Add "method": ${methods.join(", ")}.`);
  const wanted = methods.find((known) => known === method?.value.toUpperCase());
  if (method !== undefined && wanted === undefined) {
    const message = `method of ${fields.what} is '${method.value.slice(0, 40)}'.`;
    wrong(reading, "FIELD_VALUE", method.at, message, `Valid values: ${methods.join(", ")}.`);
  }
  const usable = url !== undefined && isWebAddress(url.value);
  if (url !== undefined && !usable) {
    const message = `url of ${fields.what} is not an http or https address.`;
    wrong(reading, "FIELD_VALUE", url.at, message, 'Write a whole address, such as "https://example.org/find".');
  }
  const headers = readHeaders(fields, reading);
  const parameters = fields.object("body", `body of ${fields.what}`)?.members() ?? [];
  const places = [...(url?.value.matchAll(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g) ?? [])].map((match) => match[1] ?? "");
  const names = [...new Set([...parameters.map(({ name }) => name), ...places])];
  if (url === undefined || wanted === undefined || !usable) return null;
  return { mode: "http", method: wanted, url: url.value, headers, arguments: names };
}

function isWebAddress(url: string): boolean {
  const parsed = URL.parse(url.replaceAll(/\{[A-Za-z_][A-Za-z0-9_]*\}/g, "x"));
  return parsed !== null && (parsed.protocol === "http:" || parsed.protocol === "https:");
}

/** A secret is never written but named: { "secret": "NAME", "before": "Bearer " }. */
function readHeaders(fields: Fields, reading: Reading): HttpTool["headers"] {
  const headers: [string, HttpTool["headers"][string]][] = [];
  for (const { name, at, value } of fields.object("headers", `headers of ${fields.what}`)?.members() ?? []) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      const message = `'${name.slice(0, 60)}' is not a name of a header.`;
      wrong(reading, "FIELD_VALUE", at, message, "Use letters, digits and hyphens.");
    } else if (value.is === "string" && !/[\r\n]/.test(value.text)) headers.push([name, value.text]);
    else if (value.is === "object") {
      const reference = new Fields(value, `the header ${name}`, reading);
      const secret = reference.needText("secret", 'Add "secret": the name of a secret the operator configured.');
      const before = reference.text("before")?.value;
      reference.done();
      if (secret === undefined) continue;
      headers.push([name, { secret: secret.value, ...(before === undefined ? {} : { before }) }]);
    } else {
      const fix = 'Write text on one line, or { "secret": "NAME" }.';
      wrong(reading, "FIELD_TYPE", value.at, `The header ${name} is neither text nor a secret's name.`, fix);
    }
  }
  return Object.fromEntries(headers);
}
