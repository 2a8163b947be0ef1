/**
 * Attempts to talk to the grader, to be reported to the teacher. They are signs, not proof: nothing here changes a grade, and what
 * is missed here is held by the structure around it (executed tests, evidence, a closed answer).
 */
import type { Flag } from "./grade.ts";

interface Sign {
  readonly kind: "injection" | "tampering";
  readonly says: string;
  readonly pattern: RegExp;
}

/** Over text without marks of comments and invisible letters, in one case, blanks as one. Patterns have no nested repeats. */
const signs: readonly Sign[] = [
  sign(
    "tells the reader to ignore instructions",
    /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rubric|prompts?|rules|guidelines|criteria)\b/,
  ),
  sign(
    "tells the reader to ignore instructions",
    /\bignorier\w* .{0,40}\b(?:anweisung|vorgabe|regel)|\bignor(?:a|e|ez) .{0,40}\b(?:instrucciones|instructions|consignes|istruzioni)\b/,
  ),
  sign(
    "asks for points",
    /\b(?:award|give|grant|assign|grade|score|mark)\b[\p{L}\p{N} ,:'%-]{0,60}\b(?:full|maximum|max|all|perfect|highest|top|100 ?%|10 ?\/ ?10|\d+ (?:of|out of) \d+)\b[\p{L}\p{N} ,:'%-]{0,20}\b(?:points?|marks?|scores?|grades?|credit|criteri\w+|level|confidence)\b/u,
  ),
  sign(
    "asks for points",
    /\bgraded with \d+ (?:of|out of) \d+|\b(?:volle|maximale) punkt|\bpuntuaci[oó]n m[aá]xima|\bnote maximale\b/,
  ),
  sign(
    "speaks to the grader",
    /\b(?:note|message|instructions?|attention|dear|hey|hello) (?:to|for)? ?(?:the |an |all )?(?:ai|llm|grader|grading|model|assistant|chatgpt|gpt|claude|automated)\b/,
  ),
  sign(
    "gives the reader a role",
    /\byou are (?:now |no longer )?(?:a|an|in|the)\b.{0,40}\b(?:mode|assistant|grader|model|ai|teacher|developer)\b|\b(?:maintenance|developer|debug|god) mode\b/,
  ),
  sign(
    "asks for the prompt",
    /\b(?:reveal|print|show|repeat|output)\b.{0,30}\b(?:system prompt|your instructions|your prompt|hidden tests?)\b/,
  ),
  sign(
    "hides a wish to stay unseen",
    /\bdo not (?:mention|reveal|report|tell)\b.{0,40}\b(?:note|comment|message|this|instruction)\b/,
  ),
  sign(
    "plays a conversation",
    /(?:^|\s)(?:system|assistant|developer) ?: ?\S|<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?inst\]|<\/?(?:system|assistant|submission|instructions)>/,
  ),
  sign("holds a ready-made verdict", /["']?criteria["']? ?: ?\{.{0,200}["']?(?:confidence|level|met)["']? ?:/),
  sign(
    "claims results of tests",
    /\b(?:\d+ (?:of|out of) \d+ (?:tests|points|checks) ?(?:passed)?|all (?:hidden )?tests pass(?:ed)?)\b|# pass \d+ ?\S{0,4} ?# fail 0/,
  ),
  {
    kind: "tampering",
    says: "reaches for the grader's results",
    pattern: /markmill_\w+|\/judge\/|\/autograder\b|["'`/]results\.json\b/,
  },
  {
    kind: "tampering",
    says: "reaches into the test runner",
    pattern: /node_test_context|require\.cache\[|process\.binding\(|\bnode:test\b.{0,40}\bmock\b|__proto__ ?= ?assert/,
  },
];

function sign(says: string, pattern: RegExp): Sign {
  return { kind: "injection", says, pattern };
}

/** Files that tools load by themselves: a way to run before the tests do. */
const hookFiles =
  /(?:^|\/)(?:conftest\.py|sitecustomize\.py|usercustomize\.py|pytest\.ini|tox\.ini|\.npmrc|\.noderc|\.pnpmfile\.cjs|\.mocharc\.\w+|jest\.config\.\w+|vitest\.config\.\w+|\.gitattributes|\.envrc|makefile\.local)$/i;
const MOST_FLAGS = 20;
const LONGEST_LINE = 20_000;

export function findAttempts(texts: ReadonlyMap<string, string>): Flag[] {
  const flags: Flag[] = [];
  const add = (kind: Sign["kind"], message: string, file: string, line?: number) => {
    const same = flags.some((one) => one.file === file && one.message === message);
    if (!same && flags.length < MOST_FLAGS)
      flags.push({ kind, message, file, ...(line === undefined ? {} : { line }) });
  };
  for (const [file, text] of texts) {
    if (hookFiles.test(file)) add("tampering", "is loaded by tools without being asked for", file);
    for (const { says, kind, pattern } of signs) if (pattern.test(readable(file))) add(kind, `its name ${says}`, file);
    const lines = text.split(/\r\n|\n|\r/);
    for (const [index, line] of lines.entries()) {
      if (hidesLetters(line)) add("injection", "hides letters or changes their direction", file, index + 1);
      // A sentence may run over lines; three together are read, and it is told where it begins.
      const here = readable(line.slice(0, LONGEST_LINE));
      if (here === "") continue;
      const together = `${here} ${readable((lines[index + 1] ?? "").slice(0, 400))} ${readable((lines[index + 2] ?? "").slice(0, 400))}`;
      const after = together.slice(here.length + 1);
      for (const { kind, says, pattern } of signs)
        if (pattern.test(together) && !pattern.test(after)) add(kind, says, file, index + 1);
    }
  }
  return flags;
}

/** Zero-width and direction characters, and the tag letters that mirror ASCII. One joiner in a name or an emoji is ordinary. */
function hidesLetters(line: string): boolean {
  if (
    /[\u202a-\u202e\u2066-\u2069]|[\u{e0001}-\u{e007f}]/u.test(line.replaceAll(/\u{1f3f4}[\u{e0020}-\u{e007f}]+/gu, ""))
  )
    return true;
  const hidden = line
    .replaceAll(/\p{Extended_Pictographic}\ufe0f?\u200d/gu, "")
    .match(/[\u200b\u2060\u2062-\u2064\ufeff\u00ad]/g);
  return (hidden?.length ?? 0) > 1;
}

function readable(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/[\p{Cf}]/gu, "")
    .replaceAll(/^[\s/*#;%>|-]+|[\s*/]+$/g, "")
    .replaceAll(/\\n/g, " ")
    .replaceAll(/\s+/g, " ")
    .toLowerCase();
}
