/** An S3-compatible server from npm: real HTTP, signatures checked, objects in files below a directory of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { S3Settings } from "@markmill/store";

export interface S3Server {
  readonly settings: S3Settings;
  /** Objects stay; `start` serves them again at the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), "markmill-s3-"));
  const bucket = "files";
  let port = 0;
  let server: S3rver | null = null;
  const start = async () => {
    const configureBuckets = [{ name: bucket, configs: [] }];
    server = new S3rver({ port, address: "127.0.0.1", silent: true, directory, configureBuckets });
    port = (await server.run()).port;
  };
  const stop = async () => {
    await server?.close();
    server = null;
  };
  await start();
  return {
    settings: {
      endpoint: `http://127.0.0.1:${port}`,
      bucket,
      region: "us-east-1",
      credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" },
      pathStyle: true,
    },
    stop,
    start,
    async remove() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
