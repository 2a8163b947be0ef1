/**
 * The frame of a report: one HTML file that loads nothing. A page without a script forbids all scripts. A page with our script allows only
 * this one, by its hash.
 */
import { createHash } from "node:crypto";
import { html } from "./markup.ts";

export interface PageOptions {
  readonly language?: string;
  /** Our own script, equal for every page. It contains no data of a class. */
  readonly script?: string;
}

export function page(title: string, body: string, { language = "en", script }: PageOptions = {}): string {
  const allowed = script === undefined ? "" : `; script-src '${hashOf(script)}'`;
  return `<!doctype html>
<html lang="${html(language)}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'${allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<style>
:root { color-scheme: light dark; --line: #8886; --bar: #2a6fb0; --soft: #8882; --warn: #a15c00; --quoted: #ffe9a8; --bad: #b3261e; --good: #1b6e3c; }
@media (prefers-color-scheme: dark) { :root { --bar: #6db0ee; --warn: #f0b05a; --quoted: #5a4a10; --bad: #ff8a80; --good: #7bd39b; } }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 1.6rem 0 .4rem; } h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
.draft { border: 2px solid var(--warn); color: var(--warn); font-weight: 700; padding: .3rem .8rem; border-radius: 4px; }
.mark { font-weight: 400; opacity: .8; } .result { font-size: 1.3rem; font-weight: 600; margin: .4rem 0; }
pre { background: var(--soft); padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; margin: .2rem 0 .8rem; border-radius: 4px; font: .85rem/1.45 ui-monospace, monospace; }
blockquote { margin: .2rem 0 .8rem; padding: .1rem .9rem; border-left: 4px solid var(--line); } .words { white-space: pre-line; }
.author { font-size: .85rem; opacity: .8; margin: .4rem 0 .1rem; } figcaption { font-size: .85rem; opacity: .8; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .6rem 0; } dt { opacity: .8; } dd { margin: 0; }
.track { display: block; background: var(--soft); border-radius: 3px; height: .7rem; min-width: 6rem; max-width: 26rem; overflow: hidden; }
.track > span { display: block; height: 100%; background: var(--bar); print-color-adjust: exact; } .points td { vertical-align: middle; } .points td:last-child { width: 40%; }
.tests { list-style: none; padding: 0; } .tests li { margin: .3rem 0; } .passed b { color: var(--good); } .failed b { color: var(--bad); }
.code .line { display: block; padding-left: 4.5rem; text-indent: -4.5rem; } .code .number { display: inline-block; width: 3.6rem; margin-right: .9rem; text-align: right; text-indent: 0; opacity: .6; user-select: none; }
.code .quoted { background: var(--quoted); print-color-adjust: exact; } .code .quoted .number { opacity: 1; } .code .gap { display: block; opacity: .7; font-style: italic; padding-left: 4.5rem; }
blockquote ul { margin: .2rem 0; padding-left: 1.2rem; } #flags ul { margin: 0; padding-left: 1.2rem; }
#students td:first-child { min-width: 11rem; } #students th, .points td:nth-child(2), .points th { white-space: nowrap; } nav { margin: .6rem 0; }
.bars { display: grid; grid-template-columns: minmax(8rem, 20rem) 1fr max-content; gap: .25rem .8rem; align-items: center; font-size: .9rem; } .bars .track { max-width: none; }
#students td:nth-child(2) { min-width: 15rem; }
figure { margin: 0; } table { border-collapse: collapse; width: 100%; } caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .9rem; } .tiles b { display: block; font-size: 1.4rem; }
svg { max-width: 100%; height: auto; display: block; } svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
svg .bar { fill: var(--bar); } svg .axis { stroke: var(--line); } .warn { color: var(--warn); font-weight: 600; }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .6rem; opacity: .8; }
.wide { overflow-x: auto; overflow-wrap: normal; } .wide td { min-width: 3ch; }
.tools { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: .4rem 0; } input[type=search] { font: inherit; padding: .3rem .5rem; min-width: 16rem; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; color: inherit; cursor: pointer; text-align: inherit; } th button::after { content: " ↕"; opacity: .5; }
th[aria-sort=ascending] button::after { content: " ↑"; opacity: 1; } th[aria-sort=descending] button::after { content: " ↓"; opacity: 1; }
a { color: var(--bar); } :focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; } .why { display: block; font-size: .85rem; opacity: .85; }
@media (max-width: 42rem) { .bars { grid-template-columns: 1fr max-content; } .bars > span:nth-child(3n + 1) { grid-column: 1 / -1; } main { padding: 1rem; } .wide svg { max-width: none; } .wide td:first-child { min-width: 9ch; } .wide td { min-width: 4ch; } .points td:last-child, .points th:last-child { display: none; }
  .code .line { padding-left: 3rem; text-indent: -3rem; } .code .number { width: 2.4rem; margin-right: .6rem; } .code .gap { padding-left: 3rem; } }
@media print { main { max-width: none; } section { break-inside: avoid; } section:has(tr, pre) { break-inside: auto; } tr, h2, .line { break-inside: avoid; }
  h2 { break-after: avoid; } .wide { overflow: visible; } svg { print-color-adjust: exact; } .tools { display: none; } }
</style></head>
<body>${body}${script === undefined ? "" : `<script>${script}</script>`}</body></html>
`;
}

function hashOf(script: string): string {
  return `sha256-${createHash("sha256").update(script).digest("base64")}`;
}
