/**
 * Reads the single file of a form (`multipart/form-data`), as `curl -F file=@answer.py` and browsers send it.
 *
 * F1  Only the bytes of the file are passed on, as they arrive, without the form around them.
 * F2  A form must contain exactly one file. A form that begins with a text field or has no file is refused before any byte is passed on. A
 *     second file, or a text field after the file, ends the content with a refusal, so that the handler stores nothing.
 * F3  A form that ends early ends the content with a refusal.
 */
import type { IncomingHttpHeaders } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { Refusal } from "./refusal.ts";

export interface FormFile {
  /** The client's file name without folders. null: there was none. */
  readonly name: string | null;
  readonly content: AsyncIterable<Uint8Array>;
}

export async function formFile(headers: IncomingHttpHeaders, body: Readable): Promise<FormFile> {
  const form = openForm(headers);
  const { promise, resolve, reject } = Promise.withResolvers<FormFile>();
  const content = new PassThrough();
  let found = false;
  const refuse = (refusal: Refusal) => {
    reject(refusal);
    content.destroy(refusal);
    body.unpipe(form);
    body.resume();
  };
  // The content can fail before a handler reads it. Without a listener, that error would end the process.
  content.on("error", () => {});
  form.on("file", (field: string, file: BusboyFileStream, name: string | undefined, encoding: string) => {
    // If no file was chosen, a browser sends an empty file without a name.
    if (name === "" || name === undefined) {
      file.resume();
      refuse(noFile(`The part ${quoted(field)} has no file name, so it is not a file.`));
      return;
    }
    if (!plain.has(encoding.toLowerCase())) {
      file.resume();
      refuse(noFile(`The file is encoded (Content-Transfer-Encoding: ${encoding.slice(0, 40)}). Send plain bytes.`));
      return;
    }
    if (found) {
      file.resume();
      refuse(new Refusal("INVALID", { errors: [{ path: field, message: "is a second file" }], hint: oneFile }));
      return;
    }
    found = true;
    file.on("error", (error: Error) => refuse(broken(error)));
    // The content ends with the form, not with the file, because a second file may follow.
    file.pipe(content, { end: false });
    resolve({ name, content });
  });
  form.on("field", (field: string) => {
    const errors = [{ path: field, message: "is a text field, not a file" }];
    refuse(
      found
        ? new Refusal("INVALID", { errors, hint: oneFile })
        : noFile(`The part ${quoted(field)} is a text field, not a file.`),
    );
  });
  form.on("finish", () => {
    if (found) content.end();
    else refuse(noFile("The form has no file."));
  });
  form.on("error", (error: unknown) => refuse(broken(error)));
  body.on("error", (error) => refuse(broken(error)));
  body.on("close", () => {
    if (!body.readableEnded) refuse(broken(new Error("the connection was closed")));
  });
  body.pipe(form);
  return await promise;
}

function openForm(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, "content-type": headers["content-type"] ?? "" },
      limits: { fields: 1, fieldSize: 1_000, parts: 3, headerPairs: 50, headerSize: 16 * 1024 },
    });
  } catch (error) {
    throw broken(error);
  }
}

/** Encodings of a part in which its bytes are those of the file. */
const plain: ReadonlySet<string> = new Set(["7bit", "8bit", "binary"]);

const oneFile = "Send one file: curl -F file=@answer.py. Put several files into one .zip or .tar.gz.";

function noFile(detail: string): Refusal {
  return new Refusal("UNSUPPORTED_TYPE", { detail, hint: oneFile });
}

function broken(error: unknown): Refusal {
  const why = error instanceof Error ? error.message : String(error);
  return new Refusal("BAD_REQUEST", { detail: `The form cannot be read: ${why.slice(0, 200)}`, hint: oneFile });
}

function quoted(field: string | undefined): string {
  return JSON.stringify((field ?? "").slice(0, 100));
}
