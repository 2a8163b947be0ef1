// Draws bar plots without scripts. Each plot has a text description for readers who cannot see it.
import { html } from "./markup.ts";

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The text beside the bar. */
  readonly shown: string;
}

/** Vertical bars that share one axis. */
export function histogram(title: string, bars: readonly Bar[]): string {
  const [width, height, bottom, top] = [Math.max(320, bars.length * 56), 190, 28, 22];
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = width / Math.max(1, bars.length);
  const drawn = bars.map(({ label, value, shown }, index) => {
    const tall = ((height - bottom - top) * Math.max(0, value)) / most;
    const x = index * step + step * 0.12;
    const y = height - bottom - tall;
    const middle = index * step + step / 2;
    return `<rect class="bar" x="${px(x)}" y="${px(y)}" width="${px(step * 0.76)}" height="${px(tall)}"/><text x="${px(middle)}" y="${px(y - 5)}" text-anchor="middle">${html(shown)}</text><text x="${px(middle)}" y="${height - 9}" text-anchor="middle">${html(label)}</text>`;
  });
  return frame(
    title,
    bars,
    width,
    height,
    `${drawn.join("")}<line class="axis" x1="0" x2="${width}" y1="${height - bottom}" y2="${height - bottom}"/>`,
  );
}

/** Horizontal bars, each with its own label. On a narrow screen the label is above its bar. */
export function barList(
  title: string,
  bars: readonly Bar[],
  most = Math.max(1e-9, ...bars.map(({ value }) => value)),
): string {
  const drawn = bars.map(({ label, value, shown }) => {
    const share = Math.min(1, Math.max(0, value / most));
    return `<span>${html(label)}</span><span class="track"><span style="width:${px(share * 100)}%"></span></span><span>${html(shown)}</span>`;
  });
  return `<div class="bars" role="img" aria-label="${html(wordsOf(title, bars))}">${drawn.join("")}</div>`;
}

function wordsOf(title: string, bars: readonly Bar[]): string {
  return `${title}: ${bars.map(({ label, shown }) => `${label} ${shown}`).join(", ")}`.slice(0, 2000);
}

function frame(title: string, bars: readonly Bar[], width: number, height: number, content: string): string {
  return `<div class="wide" tabindex="0"><svg role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-label="${html(wordsOf(title, bars))}">${content}</svg></div>`;
}

function px(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value * 10) / 10) : "0";
}
