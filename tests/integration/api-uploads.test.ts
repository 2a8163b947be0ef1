// Files in the body of a request, and files in a form.
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
let headers: { readonly authorization: string };
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  api = await startApi({ store, queues: null }, { uploadBytes: 100_000 });
  headers = { authorization: `Bearer ${await api.key(["owner"])}` };
});
afterAll(async () => {
  await api?.close();
  await store?.close();
  await database?.drop();
});

const program = "print(1)\n";
const hashOf = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function send(path: string, body: string | FormData, more: Record<string, string> = {}) {
  const response = await fetch(`${api.url}${path}`, { method: "POST", headers: { ...headers, ...more }, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

function form(...files: readonly (readonly [content: string | Uint8Array, name: string])[]): FormData {
  const made = new FormData();
  for (const [content, name] of files) made.append("file", new Blob([content as string]), name);
  return made;
}

describe("an upload", () => {
  it("stores the file of a form, and nothing else of the form", async () => {
    expect(await send("/v1/files", form([program, "answer.py"]))).toMatchObject({
      status: 201,
      body: { hash: hashOf(program), size: program.length },
    });
    const noise = new Uint8Array(90_000).map((_, index) => (index * 7) % 256);
    expect((await send("/v1/files", form([noise, "noise.bin"]))).body.hash).toBe(hashOf(noise));
    expect((await send("/v1/files", form(["", "empty.txt"]))).body).toEqual({ hash: hashOf(""), size: 0 });
  });

  it("takes the name of a submission from the form, unless the query sets it", async () => {
    expect((await send("/v1/submissions", form([program, "answer.py"]))).body).toMatchObject({ paths: ["answer.py"] });
    expect((await send("/v1/submissions", form([program, "lösung 1.py"]))).body).toMatchObject({
      paths: ["lösung 1.py"],
    });
    expect((await send("/v1/submissions?name=b.py", form([program, "a.py"]))).body).toMatchObject({ paths: ["b.py"] });
    expect((await send("/v1/submissions", form([program, "../../a.py"]))).body).toMatchObject({ paths: ["a.py"] });
    expect((await send("/v1/submissions", program, { "content-type": "text/x-python" })).body).toMatchObject({
      paths: ["submission"],
    });
  });

  it.each(["gzip", "br", "GZIP", "identity, deflate"])("refuses a body in the encoding %s", async (encoding) => {
    for (const body of [program, form([program, "a.py"])]) {
      expect(await send("/v1/submissions?name=a.py", body, { "content-encoding": encoding })).toMatchObject({
        status: 415,
        body: { code: "UNSUPPORTED_TYPE", detail: expect.stringContaining("Content-Encoding") },
      });
    }
  });

  it.each(["7bit", "8bit", "binary"])("accepts a file whose part has the encoding %s", async (encoding) => {
    const sent = `--x\r\ncontent-disposition: form-data; name="a"; filename="a.py"\r\ncontent-transfer-encoding: ${encoding}\r\n\r\n${program}\r\n--x--\r\n`;
    expect(await send("/v1/files", sent, { "content-type": "multipart/form-data; boundary=x" })).toMatchObject({
      body: { hash: hashOf(program) },
    });
  });

  it("accepts a JSON file as a file", async () => {
    const sent = await send("/v1/files", '{"a":1}', { "content-type": "application/json" });
    expect(sent).toMatchObject({ status: 201, body: { hash: hashOf('{"a":1}') } });
  });

  it.each([
    ["fields of a form", "a=1&b=2", "application/x-www-form-urlencoded"],
    ["parts that are no form", "--x\r\n\r\nhello\r\n--x--\r\n", "multipart/mixed; boundary=x"],
    [
      "a form of text fields",
      '--x\r\ncontent-disposition: form-data; name="note"\r\n\r\nhello\r\n--x--\r\n',
      "multipart/form-data; boundary=x",
    ],
    [
      "a form whose file was not chosen",
      '--x\r\ncontent-disposition: form-data; name="a"; filename=""\r\n\r\n\r\n--x--\r\n',
      "multipart/form-data; boundary=x",
    ],
    ["an empty form", "--x--\r\n", "multipart/form-data; boundary=x"],
    ...["base64", "quoted-printable", "Base64", "x-uuencode"].map((encoding): [string, string, string] => [
      `a file in ${encoding}`,
      `--x\r\ncontent-disposition: form-data; name="a"; filename="a.py"\r\ncontent-transfer-encoding: ${encoding}\r\n\r\ncHJpbnQoMSkK\r\n--x--\r\n`,
      "multipart/form-data; boundary=x",
    ]),
  ])("answers 415 to %s", async (_, body, type) => {
    const sent = await send("/v1/files", body, { "content-type": type });
    expect(sent).toMatchObject({ status: 415, body: { code: "UNSUPPORTED_TYPE" } });
    expect(sent.body.hint).toContain("curl");
  });

  it("answers 415 to a request without a body, and accepts an empty file", async () => {
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    socket.write(
      `POST /v1/submissions HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: ${headers.authorization}\r\n\r\n`,
    );
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces).toString()).toMatch(/^HTTP\/1\.1 415 [\s\S]*The request has no body/);
    const empty = await send("/v1/files", "", { "content-type": "text/plain" });
    expect(empty).toMatchObject({ status: 201, body: { size: 0 } });
  });

  it("refuses a form with a second file, or with a text field, and stores nothing of it", async () => {
    const two = await send("/v1/files", form(["only in a refused form", "a.py"], ["second", "b.py"]));
    expect(two).toMatchObject({ status: 400, body: { code: "INVALID", errors: [{ message: "is a second file" }] } });
    const mixed = form(["only in another refused form", "a.py"]);
    mixed.append("comment", "please be kind");
    expect(await send("/v1/files", mixed)).toMatchObject({ status: 400, body: { errors: [{ path: "comment" }] } });
    for (const content of ["only in a refused form", "only in another refused form"]) {
      const found = await fetch(`${api.url}/v1/files/${hashOf(content)}`, { headers });
      expect(found.status, content).toBe(404);
      await found.body?.cancel();
    }
  });

  it.each([
    ["no boundary", "hello", "multipart/form-data"],
    ["a boundary that never comes", "hello", "multipart/form-data; boundary=x"],
    [
      "an end in the middle",
      '--x\r\ncontent-disposition: form-data; name="f"; filename="a"\r\n\r\nhalf',
      "multipart/form-data; boundary=x",
    ],
  ])("answers 400 to a form with %s", async (_, body, type) => {
    const sent = await send("/v1/files", body, { "content-type": type });
    expect(sent.status, JSON.stringify(sent.body)).toBe(400);
  });

  it("compares the size of the file, not of the form, with the limit", async () => {
    const limit = "x".repeat(100_000);
    expect((await send("/v1/files", form([limit, "a"]))).status).toBe(201);
    expect((await send("/v1/files", form([`${limit}y`, "a"]))).body).toMatchObject({ code: "TOO_LARGE" });
  });

  it("leaves the server running when the client disconnects in the middle of a form", async () => {
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    const part = '--x\r\ncontent-disposition: form-data; name="f"; filename="gone.py"\r\n\r\nhalf of it';
    socket.write(
      `POST /v1/files HTTP/1.1\r\nhost: a\r\nauthorization: ${headers.authorization}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 5000\r\n\r\n${part}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    expect((await send("/v1/files", form([program, "answer.py"]))).status).toBe(201);
    expect(api.log.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
