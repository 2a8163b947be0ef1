// Clients from foreign generators of the OpenAPI document must compile. Only this test installs the generators from the npm registry,
// because they need another version of TypeScript than the repository.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openapiDocument } from "@markmill/contract";
import { expect, inject, it } from "vitest";

const run = promisify(execFile);
const generators = [
  "openapi-typescript@7.13.0",
  "@hey-api/openapi-ts@0.99.0",
  "openapi-typescript-codegen@0.31.0",
  "typescript@5.9.3",
];
const compilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2023", "dom", "dom.iterable"],
  types: [],
};

it.runIf(inject("thorough"))("clients from three OpenAPI generators compile under strict TypeScript", async () => {
  const folder = await mkdtemp(join(tmpdir(), "markmill-clients-"));
  try {
    const here = { cwd: folder, env: { ...process.env, NODE_OPTIONS: "" } };
    await writeFile(join(folder, "package.json"), '{ "private": true }');
    await writeFile(join(folder, "openapi.json"), JSON.stringify(openapiDocument("1.2.3")));
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["types.ts", "hey", "codegen"] }),
    );
    await run("npm", ["install", "--no-audit", "--no-fund", ...generators], here);
    const program = (name: string) => join(folder, "node_modules", name);
    const node = (...given: string[]) => run(process.execPath, given, here);
    await node(program("openapi-typescript/bin/cli.js"), "openapi.json", "-o", "types.ts");
    await node(
      program("@hey-api/openapi-ts/bin/run.js"),
      "-i",
      "openapi.json",
      "-o",
      "hey",
      "-c",
      "@hey-api/client-fetch",
    );
    await node(
      program("openapi-typescript-codegen/bin/index.js"),
      "-i",
      "openapi.json",
      "-o",
      "codegen",
      "-c",
      "fetch",
    );
    const { stdout } = await node(program("typescript/bin/tsc"), "-p", ".").catch(
      (error) => error as { stdout: string },
    );
    expect(stdout).toBe("");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
