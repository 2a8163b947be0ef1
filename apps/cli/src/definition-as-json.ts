/** Definitions and their findings for `--json`, with the names of the API (contract/src/definition-schemas.ts). */
import type { Finding } from "@markmill/definition";
import type { Program } from "@markmill/engine";

export function findingAsJson({ severity, code, message, fix, at }: Finding) {
  return { severity, code, message, hint: fix, file: at.file, line: at.line, column: at.column };
}

export function parametersAsJson(program: Program | undefined) {
  return (program?.params ?? []).map(({ name, default: otherwise }) => ({ name, default: otherwise }));
}
