/**
 * Extracts the readable text of a page: its headings and paragraphs, one per line. Works without recursion, because a page may be nested to
 * any depth.
 */
import { type DefaultTreeAdapterTypes, parse } from "parse5";

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

const read: ReadonlySet<string> = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6"]);

export function headingsAndParagraphs(html: string): string {
  return elementsOf(html, ({ tagName }) => read.has(tagName))
    .map(textOf)
    .filter((line) => line !== "")
    .join("\n");
}

export interface FoundLink {
  readonly title: string;
  readonly link: string;
  readonly snippet: string;
}

/** Reads the results of a DuckDuckGo search page: a link with class result__a, then a snippet with class result__snippet. */
export function searchResults(html: string): readonly FoundLink[] {
  const found: { title: string; link: string; snippet: string }[] = [];
  for (const element of elementsOf(html, (one) => classesOf(one).some((name) => name.startsWith("result__")))) {
    const classes = classesOf(element);
    const last = found.at(-1);
    if (classes.includes("result__a")) {
      found.push({ title: textOf(element), link: linkOf(attribute(element, "href")), snippet: "" });
    } else if (classes.includes("result__snippet") && last !== undefined) last.snippet = textOf(element);
  }
  return found;
}

/** A link through the search engine contains its target in a parameter. */
function linkOf(href: string): string {
  if (!URL.canParse(href, "https://search.invalid")) return href;
  return new URL(href, "https://search.invalid").searchParams.get("uddg") ?? href;
}

/** In the order of the page. Matches inside a match are not searched. */
function elementsOf(html: string, wanted: (element: Element) => boolean): readonly Element[] {
  const found: Element[] = [];
  const waiting: Node[] = [parse(html)];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("tagName" in node && wanted(node)) found.push(node);
    else if ("childNodes" in node) pushChildren(waiting, node.childNodes);
  }
  return found;
}

function textOf(element: Element): string {
  const parts: string[] = [];
  const waiting: Node[] = [element];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("value" in node && node.nodeName === "#text") parts.push(node.value);
    else if ("childNodes" in node && node.nodeName !== "script" && node.nodeName !== "style") {
      pushChildren(waiting, node.childNodes);
    }
  }
  return parts.join("").replaceAll(/\s+/gu, " ").trim();
}

/**
 * Pushes one by one, because a page has any number of siblings but a call only a limited number of arguments. The first child comes off
 * first.
 */
function pushChildren(waiting: Node[], children: readonly Node[]): void {
  for (let at = children.length - 1; at >= 0; at -= 1) {
    const child = children[at];
    if (child !== undefined) waiting.push(child);
  }
}

const attribute = (element: Element, name: string) => element.attrs.find((one) => one.name === name)?.value ?? "";
const classesOf = (element: Element) => attribute(element, "class").split(/\s+/);
