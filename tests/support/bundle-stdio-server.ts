/** The testing MCP server over stdio, with the library in it, one file that any Node runs: a session has no node_modules. */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { pack } from "tar-stream";

async function bundleStdioServer(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(import.meta.resolve("@markmill/tools/testing-stdio-server")),
    platform: "node",
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false, minify: true });
  await bundle.close();
  return output[0].code;
}

/** A submission that holds it, as `server.mjs`. */
export async function submissionWithServer(files: Readonly<Record<string, string>> = {}): Promise<Buffer> {
  const archive = pack();
  const chunks: Buffer[] = [];
  for (const [name, text] of Object.entries({ "server.mjs": await bundleStdioServer(), ...files }))
    archive.entry({ name, mode: 0o644 }, text);
  archive.finalize();
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
