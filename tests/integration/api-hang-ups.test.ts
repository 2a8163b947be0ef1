// A client that closes its connection gets no answer. The log and the metrics do not count that as a server error.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
let token: string;
let run: string;
/** More bytes than the buffers of a connection hold. */
let large: string;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  api = await startApi({ store, queues: null });
  token = await api.key(["owner", "ops"]);
  const owner = await api.client("owner");
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
  ({ id: run } = await owner.startRun({ body: { definition: hash } }));
  ({ hash: large } = await store.as("default").blobs.save(new Uint8Array(16 * 1024 * 1024)));
});
afterAll(async () => {
  await api?.close();
  await store?.close();
  await database?.drop();
});

/** Sends the head and a part of the body, waits until the server handles the request, and resets the connection. */
async function hangUp(
  first: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  reads = true,
): Promise<string> {
  const { port } = new URL(api.url);
  const socket = connect(Number(port), "127.0.0.1");
  let heard = "";
  if (reads) {
    socket.on("data", (bytes) => {
      heard += bytes.toString();
    });
  }
  socket.on("error", () => {});
  const head = Object.entries({ host: "x", authorization: `Bearer ${token}`, ...headers }).map((one) => one.join(": "));
  socket.write([`${first} HTTP/1.1`, ...head, "", body].join("\r\n"));
  await sleep(150);
  socket.resetAndDestroy();
  return heard;
}

const form = "multipart/form-data; boundary=b";
const cases: Record<string, () => Promise<string>> = {
  "in the middle of a file": () =>
    hangUp("POST /v1/files", { "content-type": "application/octet-stream", "content-length": "100000" }, "some bytes"),
  "in the middle of a file without a length": () =>
    hangUp(
      "POST /v1/files",
      { "content-type": "application/octet-stream", "transfer-encoding": "chunked" },
      "5\r\nbytes",
    ),
  "in the middle of a form": () =>
    hangUp(
      "POST /v1/files",
      { "content-type": form, "content-length": "100000" },
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.py"\r\n\r\nprint(',
    ),
  "before the first part of a form": () =>
    hangUp("POST /v1/files", { "content-type": form, "content-length": "100000" }, "--b\r\n"),
  "in the middle of a JSON body": () =>
    hangUp("POST /v1/runs", { "content-type": "application/json", "content-length": "1000" }, '{"definition":'),
  "in the middle of a submission": () =>
    hangUp(
      "POST /v1/submissions?name=a.py",
      { "content-type": "application/octet-stream", "content-length": "100000" },
      "print(",
    ),
  "in the middle of a download": () => hangUp(`GET /v1/files/${large}`, {}, "", false),
  "while a long poll waits": () => hangUp(`GET /v1/runs/${run}/events?after=1000&waitMs=20000`, {}, ""),
  "while a stream is open": () => hangUp(`GET /v1/runs/${run}/stream`, {}, ""),
};

/** Requests that ended with a 5xx, according to the metrics. */
async function failures(): Promise<readonly string[]> {
  const response = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return (await response.text()).split("\n").filter((line) => /^markmill_\w*requests\w*\{.*status="5/.test(line));
}

describe("a client that hangs up", () => {
  it.each(Object.entries(cases))("gets no answer and is no failure in the log: %s", async (_, ask) => {
    const said = api.log.length;
    const heard = await ask();
    await sleep(300);
    expect(heard).not.toMatch(/^HTTP\/1\.1 [45]/);
    expect(api.log.slice(said)).toEqual([]);
    expect(await failures()).toEqual([]);
  });

  it("during a handler leaves no failure in the log, and the change is stored", async () => {
    const said = api.log.length;
    const body = JSON.stringify({ name: "of a client that has gone", roles: ["reader"] });
    const { calm } = store.database;
    const client = await calm.connect();
    try {
      await client.query("begin");
      await client.query("lock table markmill.api_keys in exclusive mode");
      await hangUp(
        "POST /v1/keys",
        { "content-type": "application/json", "content-length": String(body.length) },
        body,
      );
    } finally {
      await client.query("rollback");
      client.release();
    }
    await until(async () => {
      const { items } = await (await api.client("owner")).listKeys();
      return items.some(({ name }) => name === "of a client that has gone");
    });
    expect(api.log.slice(said)).toEqual([]);
    expect(await failures()).toEqual([]);
  });

  it("leaves an audit log entry with status 499 if it hangs up during an upload", async () => {
    await cases["in the middle of a file"]?.();
    const owner = await api.client("owner");
    const outcomes = await until(async () => {
      const { items } = await owner.listAudit({ query: { action: "uploadFile" } });
      const known = items.map(({ outcome }) => outcome);
      return known.length > 0 && !known.includes(null) ? known : undefined;
    });
    expect(new Set(outcomes)).toEqual(new Set([499]));
  });
});
