import { z } from "zod";
import { named } from "./named.ts";
import { count, hash, limit, page, text, time } from "./values.ts";

const filePath = text(1_024, 1);
/** A file's text, or its bytes if it is not text. */
const fileContent = z.union([z.string(), z.strictObject({ base64: z.base64() })]);

export const definitionUpload = named(
  "DefinitionUpload",
  z.strictObject({
    root: filePath.describe("path of the workflow file that a run starts with"),
    files: z
      .record(filePath, fileContent)
      .describe("every file the workflow includes, calls or reads, by its path below the workflow folder"),
  }),
);

const finding = named(
  "Finding",
  z.object({
    severity: z.enum(["error", "warning"]),
    code: z.string(),
    message: z.string(),
    hint: z.string(),
    file: z.string(),
    line: count,
    column: count,
  }),
);

const parameter = named(
  "Parameter",
  z.object({ name: z.string(), default: z.string().nullable().describe("null: the parameter is required") }),
);

export const definitionCheck = named(
  "DefinitionCheck",
  z.object({
    valid: z.boolean(),
    hash: z.string().nullable(),
    findings: z.array(finding),
    programs: z.array(z.string()),
    parameters: z.array(parameter),
  }),
);

const definitionSummary = named(
  "DefinitionSummary",
  z.object({ hash, name: z.string(), dialect: z.string(), root: z.string(), createdAt: time }),
);

export const definitionDetail = named(
  "Definition",
  definitionSummary.extend({
    description: z.string(),
    parameters: z.array(parameter),
    programs: z.array(z.string()).describe("paths of the workflow and of the workflows it calls"),
    files: z.array(z.object({ path: z.string(), characters: count })),
  }),
);

export const savedDefinition = named(
  "SavedDefinition",
  definitionDetail.extend({ findings: z.array(finding).describe("warnings") }),
);

const listedDefinition = named(
  "ListedDefinition",
  definitionSummary.extend({
    versions: count.describe("number of definitions with this name; this one is the latest"),
  }),
);
export const definitionQuery = z.object({
  search: text(200).optional().describe("part of the name; upper and lower case are equal"),
  limit,
  cursor: text(2_000).optional().describe("`next` of the previous page"),
});
export const programQuery = z.object({
  path: filePath.optional().describe("one of `programs`; default: the root program"),
});
export const sourceQuery = z.object({ path: filePath.optional().describe("only this file") });
export const definitionParams = z.object({ hash: hash.describe("the hash of a definition") });
export const definitionPage = named("DefinitionPage", page(listedDefinition));
export const versionList = named("VersionList", page(definitionSummary));
export const definitionSource = named(
  "DefinitionSource",
  z.object({ root: z.string(), files: z.record(z.string(), z.string()) }),
);
export const compiledProgram = named(
  "CompiledProgram",
  z.object({
    path: z.string(),
    program: z.record(z.string(), z.unknown()).describe("the program that the engine runs"),
  }),
);
