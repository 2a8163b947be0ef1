/** Reading the commands of a reply, and formatting the output of commands, costs work in proportion to their length. */
import { describe, expect, it } from "vitest";
import { growthOfWork } from "../../../../tests/support/count-work.ts";
import { redact } from "../judge/judge-results.ts";
import { extractCommands } from "./extract-commands.ts";
import { splitCommands } from "./split-commands.ts";
import { renderTranscript, type TranscriptEntry } from "./transcript.ts";

const fence = "```";
const units = {
  bullets: "- a\n",
  "nested bullets": `${"- ".repeat(200)}\n`,
  "markers without end": "- ",
  quotes: `${"> ".repeat(300)}x\n`,
  tags: `<a b${" ".repeat(980)}!\n`,
  fences: "```\n",
  "unclosed fences in lists": "- - - ~~~\n",
  "here-documents": `${fence}sh\n$ x ${"<<a ".repeat(900)}\n${fence}\n`,
  substitutions: `${fence}sh\n$ x ${'(`"$('.repeat(900)}\n${fence}\n`,
  newlines: "\n",
  spaces: " ",
  backticks: "`",
  brackets: "[",
};

describe("reading the commands of a reply", () => {
  it.each(Object.entries(units))("costs linear work for %s", (_, unit) => {
    const of = (length: number) => () => extractCommands(unit.repeat(Math.ceil(length / unit.length)));
    expect(growthOfWork(of(16_000), of(160_000))).toBeLessThan(20);
  });
});

describe("formatting the output of a command", () => {
  const outcome = (output: string, gap?: { from: number; to: number }) => ({
    output,
    exitCode: 0,
    truncated: false,
    timedOut: false,
    state: { environment: {}, shell: "", directory: "/" },
    ...(gap === undefined ? {} : { gap }),
  });
  const nonce = "0123456789abcdef".repeat(4);
  const printed = ["\n", " ", "`", "[", "a", "0", "$ x\n", "[exit code 4]\n", "\r\n", "\u202e"];

  it.each(printed)("costs linear work for %j", (unit) => {
    const shown = (count: number) => () => {
      const output = `x${unit.repeat(count)}x`;
      const entry = { kind: "ran", command: "x", outcome: outcome(output) } as unknown as TranscriptEntry;
      renderTranscript([entry]);
    };
    expect(growthOfWork(shown(1_000), shown(10_000))).toBeLessThan(20);
  });

  it.each(printed)("removing the nonce from a cut output of %j costs linear work", (unit) => {
    const redacted = (count: number) => () => {
      const part = unit.repeat(count);
      const cut = outcome(`${part}...${part}`, { from: part.length, to: part.length + 3 });
      redact(cut as unknown as Parameters<typeof redact>[0], nonce);
    };
    expect(growthOfWork(redacted(1_000), redacted(10_000))).toBeLessThan(20);
  });
});

it.each(["\n", " ", " \n", "#\n", "a\n", "'", '"', "$(", "\\\n"])(
  "splitting a block of %j into commands costs linear work",
  (unit) => {
    // Only the call of bash is asynchronous, and here it answers at once.
    const split = (count: number) => () =>
      void splitCommands(unit.repeat(count), async () => "").catch(() => undefined);
    expect(growthOfWork(split(1_000), split(10_000))).toBeLessThan(20);
  },
);
