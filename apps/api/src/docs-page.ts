/**
 * Renders the OpenAPI document as one page. It loads nothing from other servers, so it works wherever the server is reachable. Its only
 * script is for the search; without it the page can still be read.
 */
import { createHash } from "node:crypto";

interface Shape {
  readonly schema: unknown;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly "x-scope"?: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: unknown;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Shape>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Shape>> }>
  >;
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
summary{cursor:pointer;padding:.35rem 0}code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f4f4f2;padding:.75rem;overflow:auto}
.method{display:inline-block;min-width:4.5rem;font-weight:700}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid #ccc}details{border-bottom:1px solid #ddd}
details>div{padding:0 0 1rem 1rem}a{color:#0b57a4}[hidden]{display:none}
input[type=search]{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:1rem 0;color:inherit;background:inherit;border:1px solid #888}
h3{font-size:1rem;margin:1rem 0 .25rem}
@media(prefers-color-scheme:dark){body{color:#e8e8e6;background:#191919}pre{background:#262626}td,th,details{border-color:#444}a{color:#8ab8f0}}`;

/** Hides entries that lack one of the typed words. `/` moves to the search box. */
const script = `const box=document.getElementById("search"),none=document.getElementById("none"),all=[...document.querySelectorAll("main>section")];
const find=()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);let found=0;
for(const section of all){let here=0;for(const one of section.querySelectorAll("details")){const text=one.textContent.toLowerCase();
const fits=words.every(word=>text.includes(word));one.hidden=!fits;here+=fits}section.hidden=here===0;found+=here}none.hidden=found>0};
box.addEventListener("input",find);document.addEventListener("keydown",event=>{if(event.key==="/"&&document.activeElement!==box){event.preventDefault();box.focus()}});
const open=()=>{const one=document.getElementById(location.hash.slice(1));if(one&&one.tagName==="DETAILS"){one.open=true;one.scrollIntoView()}};
addEventListener("hashchange",open);open();find();`;

export function docsPage(document: Record<string, unknown>): { readonly html: string; readonly contentPolicy: string } {
  const { paths, info, components, webhooks } = document as {
    paths: Record<string, Record<string, Operation>>;
    webhooks: Record<string, { readonly post: Operation }>;
    info: { title: string; version: string; description: string };
    components: { schemas: Record<string, unknown> };
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const byTag = Map.groupBy(all, ({ operation }) => operation.tags[0] ?? "");
  const sections = [...byTag].map(
    ([tag, those]) => `<section><h2 id="${idOf(tag)}">${escapeHtml(tag)}</h2>${those.map(section).join("")}</section>`,
  );
  const told = Object.entries(webhooks).map(([type, { post }]) => toldSection(type, post));
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${name}"><summary><code>${escapeHtml(name)}</code></summary><div>${json(schema)}</div></details>`,
  );
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(info.title)} API</title><style>${style}</style></head><body><main><h1>${escapeHtml(info.title)} API ${escapeHtml(info.version)}</h1>
<p>${escapeHtml(info.description)} Every request carries <code>Authorization: Bearer KEY</code>. For programs:
<a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav>${[...byTag.keys()].map((tag) => `<a href="#${idOf(tag)}">${escapeHtml(tag)}</a>`).join(" · ")} · <a href="#told">What webhooks are sent</a> · <a href="#schemas">Schemas</a></nav>
<input type="search" id="search" placeholder="Search operations, parameters and schemas" aria-label="Search">
<p id="none" hidden>No entry contains all of these words.</p>
${sections.join("")}<section><h2 id="told">What webhooks are sent</h2>${told.join("")}</section><section><h2 id="schemas">Schemas</h2>${schemas.join("")}</section></main><script>${script}</script></body></html>`;
  return {
    html,
    contentPolicy: `default-src 'none'; style-src '${hashOf(style)}'; script-src '${hashOf(script)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** A command that can be pasted, with the two variables that docs/api.md sets. */
function command(path: string, method: string, { requestBody, security, parameters = [] }: Operation): string {
  const needed = parameters.filter((one) => one.in === "query" && one.required);
  const query = needed.map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`).join("&");
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const example = query === "" ? place : `${place}?${query}`;
  const json = requestBody?.content["application/json"];
  const lines = [
    `curl -sS --fail-with-body${method === "GET" ? "" : ` -X ${method}`} "$MARKMILL_URL${example}"`,
    ...(security?.length === 0 ? [] : ['-H "Authorization: Bearer $MARKMILL_TOKEN"']),
    ...(json === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(json.example).replaceAll("'", "'\\''")}'`]),
    ...(requestBody !== undefined && json === undefined ? ["-F file=@answer.py"] : []),
  ];
  return lines.join(" \\\n  ");
}

function section({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const scope = operation["x-scope"];
  const who =
    operation.security?.length === 0
      ? "No key needed."
      : scope === undefined
        ? "Any key is accepted."
        : `Needs the scope ${scope}.`;
  const rows = parameters.map(
    (one) =>
      `<tr><td><code>${escapeHtml(one.name)}</code></td><td>${one.in}${one.required ? ", needed" : ""}</td><td>${escapeHtml(one.description ?? "")} ${inline(one.schema)}</td></tr>`,
  );
  const answers = Object.entries(responses).map(
    ([status, { description: said, content = {} }]) =>
      `<tr><td>${status}</td><td>${escapeHtml(said)}</td><td>${Object.entries(content)
        .map(([type, { schema }]) => `${escapeHtml(type)} ${inline(schema)}`)
        .join("<br>")}</td></tr>`,
  );
  const body = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => `<p>Body: ${escapeHtml(type)} ${inline(schema)}</p>`,
  );
  return `<details id="${escapeHtml(operation.operationId)}"><summary><span class="method">${method}</span> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary><div>
<p>${escapeHtml(description ?? "")} ${escapeHtml(who)}</p>${rows.length === 0 ? "" : `<table><tr><th>Parameter</th><th>in</th><th></th></tr>${rows.join("")}</table>`}
${body.join("")}<h3>Example</h3><pre>${escapeHtml(command(path, method, operation))}</pre>${answerExample(operation)}
<table><tr><th>Status</th><th></th><th></th></tr>${answers.join("")}</table></div></details>`;
}

function toldSection(type: string, { operationId, summary, requestBody }: Operation): string {
  const { schema, example } = requestBody?.content["application/json"] ?? { schema: {} };
  return `<details id="${escapeHtml(operationId)}"><summary><code>${escapeHtml(type)}</code> ${escapeHtml(summary)}</summary><div>
<p>Body: ${inline(schema)}</p>${json(example)}</div></details>`;
}

function answerExample({ responses }: Operation): string {
  const example = Object.values(responses)
    .map(({ content }) => content?.["application/json"]?.example)
    .find((one) => one !== undefined);
  return example === undefined ? "" : `<h3>Answer</h3>${json(example)}`;
}

function inline(schema: unknown): string {
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`;
  }
  return `<code>${escapeHtml(JSON.stringify(schema))}</code>`;
}

function json(schema: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`;
}

function idOf(tag: string): string {
  return tag.toLowerCase().replace(/[^a-z]+/g, "-");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
