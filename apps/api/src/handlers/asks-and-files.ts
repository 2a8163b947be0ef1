import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileName } from "@markmill/contract";
import { readSubmission } from "@markmill/grading/submission";
import { presentAsk } from "@markmill/stack";
import type { Some } from "../handler.ts";
import type { KnownSubmissions } from "../known-submissions.ts";
import { placeOf } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { errorsOf } from "../problem-of.ts";
import { notFound, Refusal } from "../refusal.ts";
import type { Upload } from "../upload-of.ts";

type Names = "listAsks" | "answerAsk" | "uploadFile" | "downloadFile" | "uploadSubmission" | "getSubmission";

export function askAndFileHandlers({ enqueuer, settings }: ApiParts, submissions: KnownSubmissions): Some<Names> {
  return {
    async listAsks({ query: { run, limit, cursor }, caller: { store } }) {
      const rootId = run === undefined ? null : (await store.runs.get(run))?.rootId;
      if (rootId === undefined) throw notFound("such run");
      const found = await store.asks.list(rootId, limit + 1, placeOf(cursor));
      const items = found.slice(0, limit).map(presentAsk);
      return { body: { items, next: found.length > limit ? String(items.at(-1)?.id) : null } };
    },

    async answerAsk({ params: { id }, body: { text }, caller: { store, principal } }) {
      const ask = await store.asks.find(id);
      if (ask === null) throw notFound("such question");
      if (ask.state !== "open") throw new Refusal("ASK_CLOSED", { detail: `The question is ${ask.state}.` });
      const committed = await store.asks.answer(id, text, principal.name);
      enqueuer.enqueue(committed.jobs);
      if (committed.kind !== "committed") throw new Refusal("ASK_CLOSED");
      return { body: { id, runId: ask.runId } };
    },

    async uploadFile({ upload: { content }, caller: { store } }) {
      const { hash, size } = await store.blobs.save(content, settings.uploadBytes);
      return { target: hash, location: `/v1/files/${hash}`, body: { hash, size } };
    },

    async downloadFile({ params: { hash }, caller: { store } }) {
      const found = await store.blobs.find(hash);
      const content = found === null ? null : await store.blobs.stream(hash);
      if (found === null || content === null) throw notFound("such file");
      return { content, size: found.size, name: hash.slice(0, 16) };
    },

    /** Writes the upload to a temporary file first. Archives are read with the same limits and protections as everywhere. */
    async uploadSubmission({ upload, query, caller: { store } }) {
      const name = query.name ?? fileNameOf(upload);
      const { content } = upload;
      const folder = await mkdtemp(join(tmpdir(), "markmill-upload-"));
      try {
        const path = join(folder, name);
        await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600 }));
        const { tar, files, bytes, paths, notes } = await readSubmission(path);
        const { hash } = await store.blobs.save(tar);
        submissions.keep(store.tenant, hash, { paths, notes });
        return { target: hash, body: { hash, files, bytes, paths: paths.slice(0, 1_000), notes: [...notes] } };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },

    async getSubmission({ params: { id }, caller: { store } }) {
      const run = await store.runs.get(id);
      const hash = run === null ? null : await store.runs.submission(run.rootId);
      const found = hash === null ? null : await store.blobs.find(hash);
      const content = found === null ? null : await store.blobs.stream(found.hash);
      if (found === null || content === null) throw notFound("submission of such a run");
      return { content, size: found.size, name: `submission-${id.slice(-12)}.tar` };
    },
  };
}

/** A name in the form must follow the same rules as one in the query. */
function fileNameOf({ name }: Upload): string {
  if (name === null) return "submission";
  const read = fileName.safeParse(name);
  if (read.success) return read.data;
  throw new Refusal("INVALID", { errors: errorsOf(read.error, "filename"), hint: "Send the name as ?name=answer.py." });
}
