/**
 * A student's report on paper: a tagged PDF, so that a screen reader finds headings, lists and the order of reading, and a title and
 * a language are said. The same report and instant give the same bytes.
 */
import PDFDocument from "pdfkit";
import { type Face, fontBytes, fontRuns } from "./pdf-fonts.ts";
import { draftMark, type StudentReport } from "./student-report.ts";

type Document = InstanceType<typeof PDFDocument>;
type Element = ReturnType<Document["struct"]>;

const margin = 56;
const sizes = { title: 20, result: 15, heading: 13, text: 10.5, code: 9 };

export async function studentPdf(
  report: StudentReport,
  { at, language = "en" }: { readonly at: Date; readonly language?: string },
): Promise<Buffer> {
  const doc = new PDFDocument({
    // Its types do not know this one yet.
    subset: "PDF/UA" as "PDF/A-1",
    ...{ size: "A4", margin, tagged: true, pdfVersion: "1.7", lang: language, displayTitle: true },
    info: { Title: `${report.title}: ${report.student}`, Creator: "Markmill", CreationDate: at, ModDate: at },
  });
  const done = gather(doc);
  const root = doc.struct("Document");
  doc.addStructure(root);
  write(doc, root, report);
  root.end();
  doc.end();
  return await done;
}

function write(doc: Document, root: Element, report: StudentReport): void {
  const add = (type: string, draw: () => void) => root.add(doc.struct(type, {}, draw));
  if (report.draft) add("P", () => say(doc, draftMark, "bold", sizes.result));
  add("H1", () => say(doc, report.title, "bold", sizes.title));
  add("P", () => say(doc, report.student, "plain", sizes.text));
  add("P", () => say(doc, report.result, "bold", sizes.result));
  const { penalty } = report;
  if (penalty !== null) add("P", () => say(doc, penalty, "plain", sizes.text));
  for (const { title, mark, level, comment, evidence, tests } of report.criteria) {
    space(doc, 12);
    keepTogether(doc, 60);
    add("H2", () => say(doc, `${title}: ${mark}${level === null ? "" : ` (${level})`}`, "bold", sizes.heading));
    if (comment !== "") add("P", () => say(doc, comment, "plain", sizes.text));
    for (const { place, quote } of evidence) {
      keepTogether(doc, 40);
      add("P", () => say(doc, place, "plain", sizes.code));
      add("Code", () => say(doc, quote, "mono", sizes.code, 12));
    }
    list(
      doc,
      root,
      tests.map(
        ({ name, passed, message }) =>
          `${passed ? "passed" : "failed"}: ${name}${passed || message === "" ? "" : ` (${message})`}`,
      ),
    );
  }
  if (report.nextSteps.length > 0) {
    space(doc, 12);
    add("H2", () => say(doc, "Next", "bold", sizes.heading));
    list(doc, root, report.nextSteps);
  }
  space(doc, 16);
  add("P", () => say(doc, report.notice, "plain", sizes.code));
}

function list(doc: Document, root: Element, items: readonly string[]): void {
  if (items.length === 0) return;
  const found = doc.struct("L");
  root.add(found);
  for (const item of items) {
    const entry = doc.struct("LI");
    found.add(entry);
    entry.add(
      doc.struct("Lbl", {}, () => {
        const { y } = doc;
        say(doc, "•", "plain", sizes.text);
        doc.y = y;
      }),
    );
    entry.add(doc.struct("LBody", {}, () => say(doc, item, "plain", sizes.text, 12)));
    entry.end();
  }
  found.end();
}

/** One paragraph, in as many fonts as its letters need. */
function say(doc: Document, text: string, face: Face, size: number, indent = 0): void {
  const runs = fontRuns(text === "" ? " " : text, face);
  doc.fontSize(size);
  const width = doc.page.width - 2 * margin - indent;
  for (const [index, { font, text: piece }] of runs.entries()) {
    use(doc, font);
    const continued = index < runs.length - 1;
    if (index === 0) doc.text(piece, margin + indent, doc.y, { width, continued, lineGap: 2 });
    else doc.text(piece, { width, continued, lineGap: 2 });
  }
  space(doc, 3);
}

function use(doc: Document, font: string): void {
  doc.registerFont(font, fontBytes(font));
  doc.font(font);
}

function space(doc: Document, points: number): void {
  doc.y += points;
}

/** A heading does not stand alone at a page's foot. */
function keepTogether(doc: Document, points: number): void {
  if (doc.y + points > doc.page.height - margin) doc.addPage();
}

function gather(doc: Document): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    doc.on("data", (chunk: Buffer) => chunks.push(chunk));
    doc.on("end", () => resolve(Buffer.concat(chunks)));
    doc.on("error", reject);
  });
}
