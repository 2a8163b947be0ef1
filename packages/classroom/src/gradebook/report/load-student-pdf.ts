/**
 * Reports on paper are written in a thread of their own. Its libraries cost 0.15 s of processor time, which most commands never need, and the
 * letters of a long report in some scripts take many seconds to lay out.
 */
import { createThreadCalls } from "@markmill/base";
import type { studentPdf as write } from "./student-pdf.ts";

const inThread = createThreadCalls<{ readonly studentPdf: typeof write }>(
  new URL("./student-pdf-thread.ts", import.meta.url),
  { name: "markmill reports", mostMs: 600_000 },
);

export async function studentPdf(...asked: Parameters<typeof write>): Promise<Buffer> {
  // A buffer arrives from a thread as plain bytes.
  return Buffer.from(await inThread("studentPdf", ...asked));
}
