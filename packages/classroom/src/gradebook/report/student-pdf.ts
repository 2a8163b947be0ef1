/**
 * Writes a student's report as a tagged PDF, so that a screen reader finds headings, lists, the reading order, a title and a language. The
 * same report and time give the same bytes.
 *
 * D1  Texts by others are indented beside a bar or in a grey box, below a line that names their author.
 * D2  Code and output of tests keep their lines, in a fixed-width font; long lines are wrapped.
 * D3  No text makes a report fail: a piece that a font cannot lay out is written in numbers.
 */
import PDFDocument from "pdfkit";
import { type Face, type FontRun, fontBytes, fontRuns, loadFonts, numbersOf } from "./pdf-fonts.ts";
import { breakLines } from "./pdf-lines.ts";
import type { QuotedFile } from "./quoted-code.ts";
import { type ReportWriter, reportWriter } from "./report-texts.ts";
import type { ReportedCriterion, StudentReport } from "./student-report.ts";

type Document = InstanceType<typeof PDFDocument>;
type Element = ReturnType<Document["struct"]>;

const margin = 56;
const sizes = { title: 20, result: 15, heading: 13, text: 10.5, small: 9, code: 8.5 };
const colours = {
  text: "#111111",
  soft: "#555555",
  bar: "#2a6fb0",
  track: "#e2e2e2",
  box: "#f1f1f1",
  quoted: "#ffe9a8",
};

export async function studentPdf(report: StudentReport, { at }: { readonly at: Date }): Promise<Buffer> {
  await loadFonts([JSON.stringify(report)]);
  const doc = new PDFDocument({
    // The library's types do not know this value yet.
    subset: "PDF/UA" as "PDF/A-1",
    size: "A4",
    margin,
    tagged: true,
    pdfVersion: "1.7",
    lang: report.language,
    displayTitle: true,
    info: { Title: `${report.title}: ${report.student}`, Creator: "Markmill", CreationDate: at, ModDate: at },
  });
  const done = gather(doc);
  const root = doc.struct("Document");
  doc.addStructure(root);
  new Writer(doc, root, report).write();
  root.end();
  doc.end();
  return await done;
}

interface Style {
  readonly face?: Face;
  readonly size?: number;
  readonly indent?: number;
  readonly colour?: string;
  /** Fills the background of the line. */
  readonly box?: string;
  /** Draws a bar to the left of the text: a quotation. */
  readonly quoted?: boolean;
  /** Text to the left of the first line: the number of a line of code. A wrapped line has none, so no text can imitate a number. */
  readonly gutter?: string;
}

class Writer {
  readonly #doc: Document;
  readonly #root: Element;
  readonly #report: StudentReport;
  readonly #say: ReportWriter["say"];

  constructor(doc: Document, root: Element, report: StudentReport) {
    this.#doc = doc;
    this.#root = root;
    this.#report = report;
    this.#say = reportWriter(report.language).say;
  }

  write(): void {
    const { title, student, draft, result, reason, share, facts, criteria, files, notice } = this.#report;
    const say = this.#say;
    if (draft) this.#add("P", say("draft"), { face: "bold", size: sizes.result });
    this.#add("H1", title, { face: "bold", size: sizes.title });
    this.#add("P", student, { size: sizes.heading });
    this.#add("P", result, { face: "bold", size: sizes.result });
    if (share !== null) this.#bar(share);
    if (reason !== null) {
      this.#add("P", `${say("reason")}:`);
      this.#add("BlockQuote", reason, { indent: 12, quoted: true });
    }
    for (const { name, value } of facts) this.#add("P", `${name}: ${value}`);
    for (const criterion of criteria) this.#criterion(criterion);
    this.#nextSteps();
    if (files.length > 0) this.#heading(say("code"));
    for (const file of files) this.#file(file);
    this.#space(16);
    this.#add("P", notice, { size: sizes.small, colour: colours.soft });
  }

  #criterion({ title, mark, share, level, summary, comment, evidence, tests }: ReportedCriterion): void {
    const say = this.#say;
    this.#heading(`${title}: ${mark}${level === null ? "" : ` (${level})`}`);
    if (share !== null) this.#bar(share);
    if (summary !== null) this.#add("P", summary);
    if (comment !== null) {
      this.#author(say(comment.by === "model" ? "commentOfModel" : "commentOfPerson"));
      this.#add("BlockQuote", comment.text, { indent: 12, quoted: true });
    }
    for (const { file, line, quote } of evidence) {
      this.#author(say("quoteOf", { file, line }));
      this.#code(quote);
    }
    if (tests.length === 0) return;
    this.#list(
      tests.map(({ name, passed, output }) => ({
        label: passed ? "✓" : "✗",
        text: `${say(passed ? "passed" : "failed")}: ${name}`,
        output,
      })),
    );
  }

  #nextSteps(): void {
    const { nextSteps, stepsBy } = this.#report;
    if (nextSteps.length === 0) return;
    this.#heading(this.#say("nextSteps"));
    const quoted = stepsBy === "model";
    if (quoted) this.#author(this.#say("stepsOfModel"));
    this.#list(
      nextSteps.map((text) => ({ label: "•", text, output: "" })),
      quoted,
    );
  }

  #file({ path, count, lines }: QuotedFile): void {
    this.#author(this.#say("lines", { file: path, count }));
    const width = String(count).length;
    this.#struct("Code", () => {
      for (const line of lines) {
        const style = { face: "mono", size: sizes.code, indent: 12 + (width + 4) * sizes.code * 0.62 } as const;
        if (line.is === "left out") {
          const text = `[${this.#say("linesLeftOut", { count: line.count })}]`;
          this.#text(text, { ...style, box: colours.box, gutter: "" });
          continue;
        }
        const gutter = `${line.marked ? "▶" : " "} ${String(line.number).padStart(width)}`;
        this.#text(line.text, { ...style, gutter, box: line.marked ? colours.quoted : colours.box });
      }
    });
    this.#space(6);
  }

  #author(text: string): void {
    this.#keepTogether(36);
    this.#add("P", `${text}:`, { size: sizes.small, colour: colours.soft });
  }

  /** See D2 in the file header. */
  #code(text: string, indent = 12, element?: Element): void {
    const draw = () => this.#text(text, { face: "mono", size: sizes.code, indent, box: colours.box });
    if (element === undefined) this.#struct("Code", draw);
    else element.add(this.#doc.struct("Code", {}, draw));
    this.#space(4);
  }

  #heading(text: string): void {
    this.#space(12);
    this.#keepTogether(60);
    this.#add("H2", text, { face: "bold", size: sizes.heading });
  }

  #list(items: readonly { label: string; text: string; output: string }[], quoted = false): void {
    const list = this.#doc.struct("L");
    this.#root.add(list);
    for (const { label, text, output } of items) {
      const item = this.#doc.struct("LI");
      list.add(item);
      this.#keepTogether(30);
      const y = this.#doc.y;
      item.add(this.#doc.struct("Lbl", {}, () => this.#text(label, { indent: quoted ? 12 : 0 })));
      this.#doc.y = y;
      const body = this.#doc.struct("LBody");
      item.add(body);
      body.add(this.#doc.struct("P", {}, () => this.#text(text, { indent: quoted ? 28 : 16, quoted })));
      this.#space(2);
      if (output !== "") {
        body.add(
          this.#doc.struct("P", {}, () =>
            this.#text(`${this.#say("testOutput")}:`, { size: sizes.small, colour: colours.soft, indent: 16 }),
          ),
        );
        this.#code(output, 16, body);
      }
      body.end();
      item.end();
    }
    list.end();
  }

  #bar(share: number): void {
    const doc = this.#doc;
    this.#keepTogether(12);
    const width = 220;
    doc.markContent("Artifact", { type: "Layout" });
    doc.rect(margin, doc.y, width, 6).fill(colours.track);
    if (share > 0) doc.rect(margin, doc.y, width * share, 6).fill(colours.bar);
    doc.endMarkedContent();
    this.#space(11);
  }

  #add(type: string, text: string, style: Style = {}): void {
    this.#struct(type, () => this.#text(text, style));
    this.#space(3);
  }

  #struct(type: string, draw: () => void): void {
    this.#root.add(this.#doc.struct(type, {}, draw));
  }

  /** Uses as many lines and fonts as the text needs. After a full page it continues on the next. */
  #text(text: string, style: Style): void {
    const { face = "plain", size = sizes.text, indent = 0, colour = colours.text, box, quoted = false, gutter } = style;
    const doc = this.#doc;
    doc.fontSize(size);
    const width = doc.page.width - 2 * margin - indent;
    const height = size * 1.4;
    const runs = fontRuns(text.replaceAll("\t", "    "), face);
    const lines = breakLines(this.#drawable(runs, face), width, (run) => this.#width(run));
    for (const [index, line] of lines.entries()) {
      if (doc.y + height > doc.page.height - margin) {
        doc.continueOnNewPage();
        doc.fontSize(size);
      }
      const { y } = doc;
      const left = margin + (gutter === undefined ? indent : 12) - 4;
      if (box !== undefined) doc.rect(left, y - 1, doc.page.width - margin - left, height).fill(box);
      if (quoted) doc.rect(margin + 2, y - 1, 2, height).fill(colours.track);
      doc.fillColor(colour);
      if (gutter && index === 0) this.#draw(fontRuns(gutter, face), margin + 12, y + size);
      this.#draw(line, margin + indent, y + size);
      doc.x = margin;
      doc.y = y + height;
    }
  }

  /** Letters of different fonts rise differently, so all are placed on one base line. */
  #draw(runs: readonly FontRun[], from: number, base: number): void {
    let x = from;
    for (const run of runs) {
      this.#use(run.font);
      this.#doc.text(run.text, x, base, { lineBreak: false, baseline: "alphabetic" });
      x += this.#doc.widthOfString(run.text);
    }
  }

  /** See D3 in the file header. */
  #drawable(runs: readonly FontRun[], face: Face): FontRun[] {
    return runs.map((run) => {
      try {
        this.#width(run);
        return run;
      } catch {
        return numbersOf(run.text, face);
      }
    });
  }

  #width({ font, text }: FontRun): number {
    this.#use(font);
    return this.#doc.widthOfString(text);
  }

  #use(font: string): void {
    this.#doc.registerFont(font, fontBytes(font));
    this.#doc.font(font);
  }

  #space(points: number): void {
    this.#doc.y += points;
  }

  /** A heading is not left alone at the bottom of a page. */
  #keepTogether(points: number): void {
    if (this.#doc.y + points > this.#doc.page.height - margin) this.#doc.addPage();
  }
}

function gather(doc: Document): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    doc.on("data", (chunk: Buffer) => chunks.push(chunk));
    doc.on("end", () => resolve(Buffer.concat(chunks)));
    doc.on("error", reject);
  });
}
