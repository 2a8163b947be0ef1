// A full disk before and during a run. The disk is a private file system of variable size.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, statfsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { type MarkmillPlace, makePlace, markmill, startMarkmill } from "../support/markmill-process.ts";
import { writeWorkflows } from "./cli-workflows.ts";

const MiB = 1024 ** 2;
const greet = ["run", "greet.wf.md", "NAME=Ada", "--script", "replies.yaml"];

let outer: MarkmillPlace & { remove(): Promise<void> };
let place: MarkmillPlace;
let mounted = false;

beforeAll(async () => {
  outer = await makePlace({ SANDBOX: "none", MAX_REPLY_BYTES: String(16 * MiB) });
  place = { ...outer, env: { ...outer.env, MARKMILL_HOME: join(outer.cwd, "disk") } };
  writeWorkflows(outer.cwd);
  const disk = join(outer.cwd, "disk");
  mkdirSync(disk);
  mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=755", "tmpfs", disk]).status === 0;
  if (!mounted) await reportSkip({ what: "the command on a full disk", reason: "no file system can be mounted here" });
});
afterAll(async () => {
  if (mounted) spawnSync("umount", ["-l", join(outer.cwd, "disk")]);
  await outer.remove();
});

function resize(bytes: number): void {
  const disk = join(place.cwd, "disk");
  const { status, stderr } = spawnSync("mount", ["-o", `remount,size=${bytes}`, disk], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

function used(): number {
  const { blocks, bfree, bsize } = statfsSync(join(place.cwd, "disk"));
  return (blocks - bfree) * bsize;
}

describe("a full disk", () => {
  it("is reported by the first command that needs space, which works after space is freed", async (test) => {
    if (!mounted) return test.skip();
    const { code, stderr } = await markmill(place, greet);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^markmill: PG_DISK_FULL: .*disk\/postgres[\s\S]*\nfix: Free some space/);
    resize(300 * MiB);
    expect(await markmill(place, greet)).toMatchObject({ code: 0 });
  });

  it("stops a run with advice, and the run continues after space is freed, with one request for its reply", async (test) => {
    if (!mounted) return test.skip();
    // The text cannot be compressed by Postgres.
    const text = randomBytes(6 * MiB).toString("base64");
    let requests = 0;
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        requests += 1;
        const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: text } }];
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const postgres = await startEmbeddedPostgres({ directory: join(place.cwd, "disk/postgres") });
    try {
      // If the log must grow on a full disk, the whole server ends. With an empty log segment there is room for the failing statement.
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      await client.query("select pg_switch_wal()");
      await client.query("checkpoint");
      await client.end();
      resize(used() + 4 * MiB);
      const ceilings = { CEILING_VALUE_CHARS: "12000000", CEILING_STATE_CHARS: "48000000" };
      const env = { ...place.env, OPENAI_BASE_URL: url, ...ceilings };
      const run = startMarkmill({ ...place, env }, ["run", "greet.wf.md", "NAME=x", "--model", "scripted"]);
      await run.says("stderr", /STORE_FULL: .*No space left on device\nfix: Free disk space/);
      resize(1_500 * MiB);
      const { code, stdout } = await run.ended;
      expect({ code, whole: stdout === `${text}\n`, requests }).toEqual({ code: 0, whole: true, requests: 1 });
    } finally {
      server.close();
      await postgres.stop();
    }
  });
});
