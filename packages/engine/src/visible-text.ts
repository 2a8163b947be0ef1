/**
 * Makes text of models, students and commands safe to display. Characters that a terminal would obey or an eye would miss become visible.
 * The record keeps the original text.
 *
 * V1  The result contains no control character except tab and line break, no bidi control, no invisible character and no lone surrogate.
 *     Exceptions: joiners and variation selectors inside an emoji, the tags of a flag, and joiners and non-joiners between letters of
 *     scripts that need them.
 * V2  No character is dropped, so no visible text is hidden. A terminal sequence loses its introducer and remains as plain characters.
 * V3  Applying it twice gives the same result as applying it once.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this file is about
const controls = /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/**
 * Default ignorables (fillers, selectors, tags, zero width, bidi), other invisible characters that Unicode does not list there, and the
 * braille blank.
 */
const invisible =
  /[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb\u2800\u{1d159}\u{13430}-\u{1343f}]|(?![\t\n\r])\p{Cc}/u;
const invisibles = new RegExp(invisible.source, "gu");
/** A black flag with the tags of a region, or an invisible character. */
const seen = new RegExp(`(\\u{1f3f4}[\\u{e0061}-\\u{e007a}]{1,6}\\u{e007f})|${invisible.source}`, "gu");

const emoji = /^\p{Extended_Pictographic}$/u;
const beforeJoiner = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/u;
const needsJoiners =
  /^[\p{sc=Arab}\p{sc=Syrc}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Khmr}\p{sc=Mymr}]$/u;

export function visibleText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!invisible.test(whole) && !whole.includes("\r")) return whole;
  return whole
    .replace(controls, (found) => (found === "\r\n" ? "\n" : pictureOf(found.charCodeAt(0))))
    .replace(seen, (found, flag: string | undefined, at: number, all: string) =>
      flag !== undefined || belongs(found, at, all) ? found : nameOf(found),
    );
}

/** Returns JSON whose strings have the same values, but with escapes, so that it is safe to display. */
export function visibleJson(json: string): string {
  return json.replace(invisibles, (found, at: number, all: string) => {
    if (belongs(found, at, all)) return found;
    return Array.from({ length: found.length }, (_, unit) => escapeUnit(found.charCodeAt(unit))).join("");
  });
}

function escapeUnit(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Returns whether the character is part of an emoji, or of a word whose spelling needs it. */
function belongs(found: string, at: number, all: string): boolean {
  if (found !== "\ufe0f" && found !== "\ufe0e" && found !== "\u200d" && found !== "\u200c") return false;
  const before = all.slice(Math.max(0, at - 2), at);
  const previous = [...before].at(-1) ?? "";
  const next = String.fromCodePoint(all.codePointAt(at + 1) ?? 0);
  if (found === "\u200d" && beforeJoiner.test(previous)) return emoji.test(next);
  if (found === "\u200c" || found === "\u200d") return needsJoiners.test(previous) && needsJoiners.test(next);
  return emoji.test(previous) || (/^[0-9#*]$/.test(previous) && next === "\u20e3");
}

/** Unicode has a picture for each C0 control and for DEL. C1 controls have none. */
function pictureOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

function nameOf(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}
