import { z } from "zod";
import { named } from "./named.ts";
import { count, hash, text } from "./values.ts";

export const fileParams = z.object({ hash: hash.describe("the SHA-256 of the file, in hex") });
export const storedFile = named("StoredFile", z.object({ hash, size: count }));
/** A single file name: no folders, and neither `.` nor `..`. */
export const fileName = text(255, 1)
  .regex(/^[^/\\]+$/, "must be a file name")
  .refine((name) => name !== "." && name !== "..", "must be a file name")
  .refine((name) => new TextEncoder().encode(name).length <= 255, "must have at most 255 bytes in UTF-8");
export const submissionQuery = z.object({
  name: fileName
    .optional()
    .describe(
      "name of the file; .zip, .tar, .tar.gz and .tgz are unpacked, any other file is kept as one file. Default: the file's name in the form, or `submission`",
    ),
});
export const storedSubmission = named(
  "StoredSubmission",
  z.object({
    hash,
    files: count,
    bytes: count,
    paths: z.array(z.string()).describe("at most 1000 of them"),
    notes: z.array(z.string()).describe("skipped files, with the reasons"),
  }),
);
