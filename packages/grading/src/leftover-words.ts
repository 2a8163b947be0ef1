/**
 * Finds words that remain in a program after comments and texts in quotes were removed: in the body of a macro, in text where a language
 * allows any tokens, or after a place that confused the scanner. Programs put signs between names; sentences put blanks.
 *
 * L1  Every line is read once, and every word a bounded number of times.
 * L2  Found words become blanks, so that lines and columns keep their positions.
 */

export interface Leftover {
  readonly text: string;
  /** Lines, from 1, that contained words. */
  readonly lines: readonly number[];
}

const listed = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Keywords that can be next to names with only blanks between them. */
const keywords = listed(`
abstract actor alias define undef ifdef ifndef pragma error warning never unknown readonly satisfies declare and any as asc ascending asm assert asserts async at auto await base be begin bool boolean break by byte case catch chan char checked class clone companion
concept consteval constexpr const constinit constructor continue covariant crate data debugger declare def default defer deferred del delegate delete desc descending deriving do done double downto dyn
each elif else elseif elsif end ensure enum equals except exit explicit export extends extension extern external factory fallthrough false field final finally fixed
float fn for foreach friend from fun func function get global go goto group guard if impl implements implicit import in include indirect infer infix init inline inner inout
instanceof insteadof int interface internal into is isolated it join keyof lambda late lateinit lazy let library lifetime local lock long loop macro match mixin mod module
move mut mutable mutating namespace native new next nil no noexcept none nonisolated nonlocal nonmutating noinline not null nullable object of on only open operator opaque optional or orderby
out override package params part partial pass print private proc process protected protocol pub public pure raise range readonly record ref register rem repeat require
required requires reified restrict return sbyte sealed select self set shared short signed sizeof some static step strictfp string struct subscript super suspend switch synchronized tailrec template then this thread_local throw
throwing throws to trait transient true try type typealias typedef typeid typename typeof uint ulong unchecked undefined union unless unmanaged unowned unsafe unsigned until use ushort using
val value var vararg virtual void volatile wchar_t weak when where while willset with xor yield
`);

/** Words that connect sentences and are not keywords of a language. */
const joints = listed(`
the please you your yours should must my are was were been that these those we our me has have will would could deserves deserve
der die das ist sind bitte diese dieser dieses eine einen sie ihr mit für und nicht alle volle dem den
le les est une vous cette ces pour avec dans que merci plaît el los las una este esta para por favor con que sus il lo gli sono questo questa della per che non uma isto esta para por favor deze dit het een voor niet
`);
/** Words that people use when they write about grades. */
const judging = listed(`
full marks points grade grades grader graded grading rubric score credit perfect excellent flawless exemplary outstanding brilliant award awarded grant deserve deserves merit merits submission solution student
teacher professor reviewer evaluator examiner criteria criterion quality maximum highest top best correct ignore disregard instructions prompt assistant model llm ai chatgpt claude gpt human approve approved pass passed accept accepted
punkte note noten bewerte vergib points note notes nota puntos punti voto
`);

const wordPattern = /[\p{L}\p{M}][\p{L}\p{M}'’]*/gu;
/** Scripts without blanks between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{8,}/u;
const LONGEST_LINE = 20_000;

/** `strict`: in this language, three names are never next to each other. */
export function blankLeftovers(text: string, strict: boolean): Leftover {
  const lines: number[] = [];
  const out = text.split("\n").map((line, index) => {
    const left = blankLine(line, strict);
    if (left !== line) lines.push(index + 1);
    return left;
  });
  return { text: out.join("\n"), lines };
}

interface Run {
  from: number;
  to: number;
  words: string[];
}

function blankLine(line: string, strict: boolean): string {
  // People do not write lines of this length. The rest of such a line is not read.
  const head = line.slice(0, LONGEST_LINE);
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, words } of runsOf(head)) {
    if (!isProse(words, strict)) continue;
    parts.push(line.slice(at, from), " ".repeat(to - from));
    at = to;
  }
  return parts.length === 0 ? line : parts.join("") + line.slice(at);
}

/** Finds rows of words that are separated only by blanks, or by a comma or full stop and a blank. */
function runsOf(line: string): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const { 0: word, index } of line.matchAll(wordPattern)) {
    const gap = run === undefined ? "" : line.slice(run.to, index);
    // A part of a longer identifier is not a word: x1, a_b, $c.
    const before = line[index - 1] ?? " ";
    const after = line[index + word.length] ?? " ";
    if (/[\d_$@\\]/.test(before) || /[\d_$(]/.test(after)) {
      run = undefined;
      continue;
    }
    if (run === undefined || gap.length > 8 || !/^(?:[ \t]+|[,.!?:] )$/.test(gap)) {
      run = { from: index, to: index + word.length, words: [] };
      runs.push(run);
    } else if (!/^[ \t]+$/.test(gap)) run.words.push(",");
    run.words.push(word.toLowerCase());
    run.to = index + word.length;
  }
  return runs;
}

function isProse(marked: readonly string[], strict: boolean): boolean {
  const words = marked.filter((word) => word !== ",");
  if (words.some((word) => unspaced.test(word))) return true;
  if (words.length < 3) return false;
  const foreign = words.filter((word) => /[^\p{Script=Latin}\p{M}'’]/u.test(word)).length;
  if (foreign >= 3) return true;
  const joining = words.filter((word) => joints.has(word)).length;
  const speaking = new Set(words.filter((word) => judging.has(word))).size;
  if (words.length >= 4 && joining >= 1 && joining + speaking >= 2 && sideBySide(marked) >= 3) return true;
  return (
    strict &&
    (sideBySide(marked, keywords) >= 3 ||
      (speaking >= 2 && sideBySide(marked, keywords) >= 2 && sideBySide(marked) >= 3))
  );
}

/** The longest row of words separated only by blanks. Keywords end a row. */
function sideBySide(words: readonly string[], without: ReadonlySet<string> = new Set()): number {
  let [longest, row] = [0, 0];
  for (const word of words) {
    row = word === "," || without.has(word) ? 0 : row + 1;
    longest = Math.max(longest, row);
  }
  return longest;
}

/** An identifier of many words is a sentence. Only its first two words are kept. */
export function cutLongNames(text: string): string {
  return text.replaceAll(/[\p{L}_$][\p{L}\p{M}\p{N}_$]{15,}/gu, (name) => {
    const [, , third, , fifth] = [...name.matchAll(piece)];
    if (third === undefined || fifth === undefined) return name;
    return name.slice(0, third.index) + " ".repeat(name.length - third.index);
  });
}

const piece = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}+/gu;

/** Returns the words of a name, in lower case. */
export function piecesOfName(name: string): string[] {
  return [...name.matchAll(piece)].map(([one]) => one.toLowerCase());
}
