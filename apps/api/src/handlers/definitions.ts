import { drawProgram, type Finding, isProtectedPath } from "@markmill/definition";
import type { Program } from "@markmill/engine";
import type { Definition } from "@markmill/store";
import { cutPage } from "../cut-page.ts";
import type { DefinitionLoader } from "../definition-loader.ts";
import type { Some } from "../handler.ts";
import type { Upload } from "../load-upload.ts";
import type { ApiParts } from "../parts.ts";
import { notFound, Refusal } from "../refusal.ts";

type Names =
  | "validateDefinition"
  | "saveDefinition"
  | "listDefinitions"
  | "getDefinition"
  | "listDefinitionVersions"
  | "getDefinitionSource"
  | "getDefinitionProgram"
  | "getDefinitionMermaid";

export function definitionHandlers({ store: { clock } }: ApiParts, loader: DefinitionLoader): Some<Names> {
  const load = (upload: Upload) => {
    refusePaths(upload);
    return loader.load(upload);
  };
  return {
    async validateDefinition({ body }) {
      const { definition, findings } = await load(body);
      const root = definition?.programs[definition.root];
      return {
        body: {
          valid: definition !== null,
          hash: definition?.hash ?? null,
          findings: findings.map(presentFinding),
          programs: Object.keys(definition?.programs ?? {}),
          parameters: parametersOf(root),
        },
      };
    },

    async saveDefinition({ body, caller: { store } }) {
      const { definition, findings, sources } = await load(body);
      if (definition === null) {
        throw new Refusal("DEFINITION_INVALID", {
          detail: `${findings.filter(({ severity }) => severity === "error").length} errors`,
          errors: findings.map(({ severity, code, message, fix, at }) => ({
            path: at.file,
            line: at.line,
            column: at.column,
            severity,
            code,
            message,
            hint: fix,
          })),
        });
      }
      const { hash, dialect, root, programs } = definition;
      const name = programs[root]?.name ?? root;
      const known = (await store.definitions.find(hash)) !== null;
      const saved: Definition = { hash, dialect, root, programs, name, files: sources };
      await store.definitions.save(saved, { current: true });
      const [version] = (await store.definitions.versions(name)).filter((one) => one.hash === hash);
      return {
        status: known ? 200 : 201,
        target: hash,
        location: `/v1/definitions/${hash}`,
        body: {
          ...presentDefinition(saved, version?.createdAt ?? new Date(clock.now())),
          findings: findings.map(presentFinding),
        },
      };
    },

    async listDefinitions({ query: { search, limit, cursor }, caller: { store } }) {
      const page = await store.definitions.list(search === undefined ? {} : { search }, {
        limit,
        ...(cursor === undefined ? {} : { after: cursor }),
      });
      const items = page.definitions.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() }));
      return { body: { items, next: page.next } };
    },

    async getDefinition({ params: { hash }, caller: { store } }) {
      const definition = await find(store, hash);
      const versions = await store.definitions.versions(definition.name);
      const createdAt = versions.find((one) => one.hash === hash)?.createdAt ?? new Date(0);
      return { body: presentDefinition(definition, createdAt) };
    },

    async listDefinitionVersions({ params: { hash }, query, caller: { store } }) {
      const { name } = await find(store, hash);
      const { items, next } = cutPage(await store.definitions.versions(name), (one) => one.hash, query);
      return {
        body: { items: items.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() })), next },
      };
    },

    async getDefinitionSource({ params: { hash }, query: { path }, caller: { store } }) {
      const { root, files } = await find(store, hash);
      if (path === undefined) return { body: { root, files: { ...files } } };
      const text = Object.hasOwn(files, path) ? files[path] : undefined;
      if (text === undefined) throw notFound("such file in the definition");
      return { body: { root, files: { [path]: text } } };
    },

    async getDefinitionProgram({ params: { hash }, query, caller: { store } }) {
      const { path, program } = await findProgram(store, hash, query.path);
      return { body: { path, program: { ...program } } };
    },

    async getDefinitionMermaid({ params: { hash }, query, caller: { store } }) {
      const { program } = await findProgram(store, hash, query.path);
      return { text: chartOf(program) };
    },
  };
}

type Store = Parameters<Some<Names>["getDefinition"]>[0]["caller"]["store"];

async function find(store: Store, hash: string): Promise<Definition> {
  const definition = await store.definitions.find(hash);
  if (definition === null) throw notFound("such definition");
  return definition;
}

async function findProgram(store: Store, hash: string, wanted: string | undefined) {
  const { root, programs } = await find(store, hash);
  const path = wanted ?? root;
  const program = Object.hasOwn(programs, path) ? programs[path] : undefined;
  if (program === undefined) throw notFound("such program in the definition");
  return { path, program };
}

function refusePaths({ files }: Upload): void {
  const errors: { path: string; message: string }[] = [];
  for (const path of Object.keys(files)) {
    if (!isPlainPath(path))
      errors.push({ path: `files.${path.slice(0, 200)}`, message: "must be a path below the workflow folder" });
    else if (isProtectedPath(path))
      errors.push({
        path: `files.${path.slice(0, 200)}`,
        message: "is a file that may hold secrets: do not upload it",
      });
  }
  if (errors.length > 0) throw new Refusal("INVALID", { errors: errors.slice(0, 50) });
}

function isPlainPath(path: string): boolean {
  return !path.includes("\\") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

function presentFinding({ severity, code, message, fix, at }: Finding) {
  return { severity, code, message, hint: fix, file: at.file, line: at.line, column: at.column };
}

function presentDefinition({ hash, name, dialect, root, programs, files }: Definition, createdAt: Date) {
  const program = programs[root];
  return {
    hash,
    name,
    dialect,
    root,
    createdAt: createdAt.toISOString(),
    description: program?.description ?? "",
    parameters: parametersOf(program),
    programs: Object.keys(programs),
    files: Object.entries(files).map(([path, text]) => ({ path, characters: text.length })),
  };
}

function parametersOf(program: Program | undefined) {
  return (program?.params ?? []).map(({ name, default: otherwise }) => ({ name, default: otherwise }));
}

function chartOf(program: Program): string {
  const drawing = drawProgram(program);
  if (drawing === null || drawing === undefined)
    throw new Refusal("NOT_FOUND", { detail: "This program has no flowchart." });
  return drawing.lines.join("\n");
}
