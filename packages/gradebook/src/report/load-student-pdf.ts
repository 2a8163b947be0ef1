/** The libraries of fonts and paper are loaded with the first report: they cost 0.15 s of processor time, which most commands never need. */
import type { studentPdf as write } from "./student-pdf.ts";

export const studentPdf: typeof write = async (report, more) =>
  await (await import("./student-pdf.ts")).studentPdf(report, more);
