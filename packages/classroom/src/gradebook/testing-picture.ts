/** For tests: renders the first page of a PDF into pixels. Text layers do not count. */
import { createCanvas } from "@napi-rs/canvas";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** The grey value of each pixel, 0 (black) to 255 (white), row by row. */
  readonly grey: Uint8Array;
}

export async function pictureOf(bytes: Buffer, scale = 2): Promise<Picture> {
  const pdf = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
  const page = await pdf.getPage(1);
  const viewport = page.getViewport({ scale });
  const [width, height] = [Math.ceil(viewport.width), Math.ceil(viewport.height)];
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  // The library's types accept only the canvas of a browser.
  const target = { canvas, canvasContext: context } as unknown as Pick<
    Parameters<typeof page.render>[0],
    "canvas" | "canvasContext"
  >;
  await page.render({ ...target, viewport }).promise;
  const { data } = context.getImageData(0, 0, width, height);
  const grey = new Uint8Array(width * height);
  for (let at = 0; at < grey.length; at += 1)
    grey[at] = Math.round(((data[4 * at] ?? 0) + (data[4 * at + 1] ?? 0) + (data[4 * at + 2] ?? 0)) / 3);
  return { width, height, grey };
}

/** The rows between two heights, in points from the top of the page. */
export function stripOf({ width, grey }: Picture, from: number, to: number, scale = 2): Uint8Array {
  return grey.slice(Math.floor(from * scale) * width, Math.ceil(to * scale) * width);
}

/** The number of dark pixels. */
export function inkOf(pixels: Uint8Array): number {
  return pixels.reduce((count, value) => count + (value < 128 ? 1 : 0), 0);
}
