/**
 * Every function that takes foreign text, over every hostile shape: its work grows no faster than the text.
 *
 * P1  The inventory is the source: each exported function whose first parameter is a text, or bytes, by its name (`textNames`). A new
 *     function is found by itself; it needs an entry here only if it takes more arguments, or is left out for a reason.
 * P2  Functions that take their text otherwise stand in `others`.
 * P3  All shapes are counted together: one shape with quadratic work is most of the sum. Only a failure is counted shape by shape.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { isTooDeep } from "../../packages/llm/src/json-depth.ts";
import { countWork } from "../support/count-work.ts";

const root = join(import.meta.dirname, "../..");
const inBytes = new TextEncoder();
const nonce = "0123456789abcdef".repeat(4);

const units: Readonly<Record<string, string>> = {
  letters: "a",
  words: "ab cd ",
  newlines: "\n",
  "line ends of Windows": "\r\n",
  spaces: " ",
  backticks: "`",
  fences: "```json\n",
  brackets: "[",
  "nested brackets": "([{<a ",
  "closed brackets": "]})",
  keys: '{"a":',
  quotes: "\"'",
  escapes: "\\",
  tags: "<p>x",
  headings: "# a\n",
  pipes: "| a ",
  dashes: "- ",
  "quoted lists": "> - ",
  commands: "$ x\n",
  "here-documents": "<<'a' b\n",
  substitutions: "$(`",
  places: "{{ a }}",
  addresses: "a@b.c ",
  digits: "1",
  Cyrillic: "привет ",
  Han: "漢字",
  emoji: "😀",
  "marks on letters": "e\u0301",
  "half characters": "\ud800",
  invisible: "\u200b",
  terminal: "\u001b[0m",
};
const shape = (unit: string, size: number) => `x${unit.repeat(Math.ceil(size / unit.length))}x`;

const textNames =
  "text|reply|html|json|output|line|written|content|page|yamlText|block|csv|bytes|whole|body|words|template|payload|source|pattern|message|transcript|label|stem|given";

/** Further arguments, by file and name. */
const place = { file: "a", line: 1, column: 1 };
const report = { error: () => undefined, warning: () => undefined, add: () => undefined, hasErrors: false };
const further: Readonly<Record<string, readonly unknown[]>> = {
  "base/json/json-excess.ts jsonExcess": [{ depth: 500 }],
  "cli/fit-width.ts fitWidth": [80],
  "cli/fold-text.ts foldText": [80],
  "cli/human-grades.ts readHumanGrades": [{ rows: [], criteria: [], title: "", most: 1 }],
  "classroom/attempt-order.ts markedNumber": [new Set()],
  "classroom/cfg-batch.ts readCfgBatch": ["a.cfg.json"],
  "classroom/class-file.ts readClassFile": ["class.yaml"],
  "classroom/roster.ts readRoster": ["roster.csv"],
  "config/redact-config.ts redactText": [null],
  "definition/codementor/mermaid/parse-flowchart.ts parseFlowchart": [{ file: "a", line: 1 }],
  "definition/codementor/expression/parse-check.ts parseCheck": [false],
  "definition/codementor/parse-workflow.ts parseWorkflow": ["a.wf.md"],
  "definition/codementor/read-schema.ts readSchema": ["a", place, report],
  "definition/decode-source.ts decodeSource": ["a", report],
  "definition/read-rubric-file.ts readRubricFile": ["a.md"],
  "definition/tasks-json/fill-message.ts fillMessage": [new Set(["a"]), false],
  "embedded-postgres/postmaster-pid.ts parsePostmasterPid": ["/nowhere"],
  "engine/fill-command.ts fillCommand": [() => "v"],
  "engine/render.ts render": [() => "v"],
  "grading/leftover-words.ts blankLeftovers": [true],
  "grading/line-at.ts lineAt": [0],
  "grading/scan-jsx.ts beginsJsx": [0, ""],
  "grading/slash-in-script.ts regexEnd": [0, 1_000_000],
  "grading/slash-in-script.ts unsure": [0, 1_000_000],
  "grading/test-results.ts readTestResults": [nonce],
  "grading/trim-end.ts trimEnd": [/\s/],
  "classroom/gradebook/report/pdf-fonts.ts fontRuns": ["plain"],
  "classroom/gradebook/report/pdf-fonts.ts numbersOf": ["plain"],
  "llm/fit-context.ts shortenPrompt": [1_000],
  "llm/hash-embedding.ts hashEmbedding": [64],
  "llm/model-catalogue.ts parseModels": ["models.yaml"],
  "llm/script.ts fillTemplate": [new Map([["a", "v"]])],
  "llm/script.ts parseScript": ["script.yaml"],
  "engine/pattern/alphabet.ts after": [0],
  "base/text/find-text.ts containsText": ["ab".repeat(100)],
  "engine/pattern/search-within.ts searchWithin": ["x", { left: Number.POSITIVE_INFINITY, known: new Map() }],
  "sandbox/commands/command-policy.ts judgeCommand": [{ kind: "deny", names: ["rm"] }],
  "sandbox/commands/read-commands.ts readCommands": ["session"],
  "sandbox/commands/split-commands.ts splitCommands": [async () => ""],
  "sandbox/judge/judge-results.ts redactNonce": [nonce],
  "tools/fill-url.ts fillUrl": [{ a: "v" }],
  "worker/structured-reply.ts readStructuredReply": [{ type: "object" }],
  "worker/structured-reply.ts readStructuredText": [{ type: "object" }],
  "worker/structured-reply.ts readToolArguments": [{ type: "object" }],
};

/** Not counted here, and why. */
const leftOut: Readonly<Record<string, string>> = {
  "classroom/positioned-yaml.ts readPositioned": "readClassFile calls it",
  "engine/pattern/compile-syntax.ts compileSyntax": "parsePattern calls it with the syntax",
  "llm/read-yaml.ts readYaml": "parseModels and parseScript call it",
  "llm/decode-body.ts decodeBody": "zlib, bounded by bytes",
  "tools/read-page.ts headingsAndParagraphs": "a thread around html-text.ts",
  "tools/read-page.ts searchResults": "a thread around html-text.ts",
};

function inventory(): {
  readonly name: string;
  readonly file: string;
  readonly bytes: boolean;
  readonly exported: string;
}[] {
  const files = globSync("{packages,apps}/*/src/**/*.ts", { cwd: root });
  return files
    .filter((file) => !/\.(?:test|bench)\.ts$|\/testing-[^/]+\.ts$|sandbox\/.*-script\.ts$/.test(file))
    .toSorted()
    .flatMap((file) => {
      const found = readFileSync(join(root, file), "utf8").matchAll(
        new RegExp(
          `^export (?:async )?function\\*? ?(\\w+)(?:<[^(]*>)?\\(\\s*(?:${textNames}): (string|Uint8Array|Buffer)\\b`,
          "gm",
        ),
      );
      const short = file
        .replace(/^(?:packages|apps)\//, "")
        .replace("/src/", "/")
        .replace("/dialects/", "/");
      return [...found].map(([, exported = "", type]) => ({
        name: `${short} ${exported}`,
        file: join(root, file),
        bytes: type !== "string",
        exported,
      }));
    });
}

type Reader = (text: string) => unknown;

/** P2. */
async function others(): Promise<Readonly<Record<string, Reader>>> {
  const { findAttempts, findSpokenAttempts } = await import("../../packages/grading/src/find-attempts.ts");
  const { findWording } = await import("../../packages/grading/src/find-wording.ts");
  const { authoredWords, Scrubber } = await import("../../packages/grading/src/scrub.ts");
  const { showWork } = await import("../../packages/grading/src/show-work.ts");
  const { stripWords } = await import("../../packages/grading/src/strip-words.ts");
  const { sampleRubric } = await import("../../packages/grading/src/testing-rubric.ts");
  const { readVerdicts } = await import("../../packages/grading/src/verdict.ts");
  const { workFiles } = await import("../../packages/grading/src/work-files.ts");
  const { checkEvidence } = await import("../../packages/grading/src/evidence.ts");
  const { readCompletion } = await import("../../packages/llm/src/read-completion.ts");
  const { redactorOf } = await import("../../packages/llm/src/redact-key.ts");
  const { fitContext } = await import("../../packages/llm/src/fit-context.ts");
  const { errorInBody } = await import("../../packages/llm/src/error-in-body.ts");
  const { hideSecrets } = await import("../../packages/tools/src/secrets.ts");
  const { renderTranscript } = await import("../../packages/sandbox/src/commands/transcript.ts");
  const { findMisfits } = await import("../../packages/engine/src/json-schema.ts");
  const { submissionTexts } = await import("../../packages/worker/src/submission-texts.ts");
  const { similarPairs } = await import("../../packages/classroom/src/similar-pairs.ts");
  const { ToolCallPieces } = await import("../../packages/llm/src/read-tool-calls.ts");
  const { StreamedReply } = await import("../../packages/llm/src/read-completion.ts");
  const { requestHash } = await import("../../packages/llm/src/request-hash.ts");
  const { JsonWeight } = await import("../../packages/tools/src/json-weight.ts");
  const { initialState, parseReport, renderScript } = await import("../../packages/sandbox/src/session-script.ts");
  const { parseLauncherReport } = await import("../../packages/sandbox/src/docker/launcher-script.ts");
  const { OutputCollector } = await import("../../packages/sandbox/src/collect-output.ts");
  const { readTar } = await import("../../packages/sandbox/src/checkpoint/tar-archive.ts");
  const { evaluateCondition } = await import("../../packages/engine/src/evaluate-condition.ts");
  const { edgesOf, play, programOf, started } = await import("../../packages/engine/src/testing-programs.ts");
  const engine = await import("../../packages/engine/src/state.ts");
  const { step } = await import("../../packages/engine/src/step.ts");
  const { testsOfGradescope, readGradescopeResults } = await import("../../packages/grading/src/gradescope-results.ts");
  const { loadDefinition } = await import("../../packages/definition/src/load-definition.ts");
  const { classHtml } = await import("../../packages/classroom/src/gradebook/report/class-report.ts");
  const { reportFor } = await import("../../packages/classroom/src/gradebook/report/student-report.ts");
  const { studentHtml } = await import("../../packages/classroom/src/gradebook/report/student-html.ts");
  const { studentMarkdown } = await import("../../packages/classroom/src/gradebook/report/student-markdown.ts");
  const { breakLines } = await import("../../packages/classroom/src/gradebook/report/pdf-lines.ts");
  const { exportGrades } = await import("../../packages/classroom/src/gradebook/export/export-grades.ts");
  const { criteria, gradeOf, row, sheetOf } = await import("../../packages/classroom/src/gradebook/testing-sheet.ts");

  const people = [{ key: "1", name: "Ada Lovelace", id: "40171", login: "ada" }];
  const scrubber = new Scrubber(people, new Map([["1", "S1"]]), ["1"]);
  const transcript = (command: string, output: string) => {
    const outcome = { output, exitCode: 0, truncated: false, timedOut: false, state: {} };
    const entry = { kind: "ran", command, outcome } as unknown as Parameters<typeof renderTranscript>[0][number];
    return renderTranscript([entry]);
  };
  const graded = (text: string) => {
    const grade = gradeOf({ is: "graded" }, [6, 4], { nextSteps: [text] });
    const scored = { comment: text, evidence: [{ file: "a.js", line: 1, quote: text }] };
    return { ...grade, criteria: grade.criteria.map((one) => (one.is === "scored" ? { ...one, ...scored } : one)) };
  };
  const reportOf = (text: string) =>
    reportFor({
      title: text,
      student: text,
      grade: graded(text),
      criteria,
      reviewer: null,
      moment: { afterDueDate: true, published: true },
      sources: new Map([["a.js", text]]),
    });
  const definition = (name: string): Reader => {
    return (text) =>
      loadDefinition(
        { read: (asked: string) => (asked === name ? inBytes.encode(text) : undefined), list: () => [name] } as never,
        name,
      );
  };
  const named = { from: "name", name: "RESULT" } as const;
  const compared = (op: string): Reader => {
    const condition = { op, left: named, right: { from: "literal", text: "x1" }, lenient: true } as never;
    return (text) => {
      const state = { ...engine.initialState, variables: { RESULT: text } };
      evaluateCondition(condition, { program: programOf({}, []), state, reads: {}, files: {} });
    };
  };
  /** One step of a run with this node, whose RESULT is the text. */
  const begun = (node: object, more: object = {}): Reader => {
    const program = programOf({ START: { kind: "start" }, A: node as never }, edgesOf("START A"), more);
    return (text) => step(program, engine.initialState, started({ variables: { RESULT: text } }));
  };
  const replied = (node: object): Reader => {
    const program = programOf({ START: { kind: "start" }, A: node as never }, edgesOf("START A"));
    return (text) => play(program, () => ({ kind: "replied", text }));
  };
  const listed = (text: string) => Array.from({ length: text.length / 2 }, (_, at) => text.charAt(2 * at));
  const search = { kind: "http", method: "GET", url: "http://a", schema: { properties: { lang: {} } } };
  const post = [{ do: "replace", what: "a", by: "b" }, { do: "trim" }, { do: "toUpper" }] as const;
  return {
    ...Object.fromEntries(
      ["equals", "contains", "matches", "includes", "alike", "greater", "above", "empty"].map((op) => [
        ...[`CHECK, ${op}`, compared(op)],
      ]),
    ),
    "items of a map": begun({
      kind: "map",
      over: named,
      each: { kind: "prompt", text: { from: "read", name: "item" } },
      concurrency: 2,
      itemError: "collect",
      minSuccess: 0,
    }),
    "a query in a text": begun({ kind: "memory", op: "search", text: named, web: "t" }, { tools: { t: search } }),
    "the result of a run": begun(
      { kind: "end", outcome: "success" },
      { result: { take: "operands", of: [named, named], json: true, post, postJson: true } },
    ),
    "a verdict": replied({ kind: "evaluate", text: named, statuses: ["a"], repairs: 0, lessons: "l" }),
    "a command with a value": begun({ kind: "execute", command: "echo {{RESULT}}", nonZero: "ok", repeat: "safe" }),
    "parts of a reply": (text) =>
      readCompletion({
        choices: [
          { message: { content: listed(text).map((type) => ({ type: type === "a" ? "think" : type, text: type })) } },
        ],
      }),
    "calls of tools with ids that are taken": (text) => {
      const half = Math.floor(text.length / 4);
      const ids = [...Array.from({ length: half }, (_, at) => `call_${at + half + 1}`), ...listed(text).fill("")];
      new ToolCallPieces().add({ tool_calls: ids.map((id) => ({ id })) });
      readCompletion({ choices: [{ message: { tool_calls: ids.map((id) => ({ id })) }, finish_reason: "stop" }] });
    },
    "pieces of a stream": (text) => {
      const reply = new StreamedReply();
      for (const content of listed(text)) reply.add({ choices: [{ delta: { content } }] });
      reply.whole();
    },
    requestHash: (text) => requestHash({ model: "m", messages: [{ role: "user", content: text }], settings: {} }),
    "the weight of JSON": (text) => new JsonWeight().add(inBytes.encode(text)),
    "reports of a command": (text) => parseReport(nonce, `${nonce} start 1\n${text}\n${nonce} state ${text}\n`),
    "reports of a launcher": (text) => parseLauncherReport(nonce, `${nonce} exit 1\n${text}`),
    "the script of a command": (text) => {
      const state = { ...initialState({}), environment: { A: text }, shell: text };
      renderScript({ kind: "python", text, state });
    },
    "output in small pieces": (text) => {
      const collector = new OutputCollector({ marker: nonce, capBytes: 1_000 });
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 7) collector.push(bytes.subarray(at, at + 7));
      collector.finish();
    },
    "an archive": (text) => [...readTar(inBytes.encode(text))],
    "an autograder's tests": (text) => {
      const tests = listed(text).map((name) => ({ name, status: "passed", max_score: 1 }));
      const read = readGradescopeResults(JSON.stringify({ tests }));
      if (read.is === "read") testsOfGradescope(read.results);
    },
    ...Object.fromEntries(
      ["js", "c", "html", "php", "sql", "rb", "css"].map((ending) => [
        ...[`stripWords of .${ending}`, (text: string) => stripWords(`a.${ending}`, text)],
      ]),
    ),
    findAttempts: (text) => findAttempts(new Map([["a.js", text]])),
    findSpokenAttempts: (text) => findSpokenAttempts(new Map([["RESULT", text]])),
    findWording: (text) => findWording(new Map([["a.js", text]])),
    "a name of a file": (text) => findWording(new Map([[text, ""]])),
    authoredWords: (text) => authoredWords([text]),
    "the scrubber": (text) => scrubber.scrub(text),
    showWork: (text) => showWork(new Map([[text, text]]), { nonce }),
    "readVerdicts of a reply": (text) => readVerdicts(sampleRubric, text, workFiles(new Map())),
    "readVerdicts of a comment": (text) =>
      readVerdicts(sampleRubric, JSON.stringify({ criteria: { a: text } }), workFiles(new Map())),
    "a quotation": (text) =>
      checkEvidence({ file: "a.js", line: 1, quote: "abcd" }, workFiles(new Map([["a.js", text]])), "code"),
    readCompletion: (text) => readCompletion(text),
    "an unasked stream": (text) => readCompletion(`data: {}\n${text}`),
    errorInBody: (text) => errorInBody({ error: { message: text } }),
    "taking out a key": redactorOf("sk-test-0123456789abcdef", "reply"),
    "hiding secrets": (text) => hideSecrets(["secret-0123456789"])(text),
    fitContext: (text) => fitContext([{ role: "user", content: text }], { contextTokens: 500, maxOutputTokens: 100 }),
    "the transcript of an output": (text) => transcript("x", text),
    "the transcript of a command": (text) => transcript(text, "x"),
    "a value against a schema": (text) => findMisfits({ type: "array", items: { type: "integer" } }, [...text]),
    "different items": (text) => findMisfits({ uniqueItems: true }, [...text]),
    submissionTexts: (text) =>
      submissionTexts({ kind: "list", files: [{ path: "a.ipynb", mode: 0o644, bytes: inBytes.encode(text) }] }),
    similarPairs: (text) =>
      similarPairs(
        new Map([
          ["a", text],
          ["b", text],
        ]),
      ),
    "a definition in Markdown": definition("a.wf.md"),
    "a definition of tasks": definition("a.json"),
    "a definition of agents": definition("a.yaml"),
    reportFor: reportOf,
    studentHtml: (text) => studentHtml(reportOf(text)),
    studentMarkdown: (text) => studentMarkdown(reportOf(text)),
    "lines on paper": (text) => breakLines([{ font: "a", text }], 100, (run) => run.text.length),
    classHtml: (text) =>
      classHtml({
        sheet: sheetOf([row("1", text, graded(text))]),
        at: "now",
        work: new Map(),
        unmatched: [text],
        similar: [{ one: text, other: text, similarity: 1 }],
      }),
    "grades as CSV": (text) => exportGrades("csv", sheetOf([row("1", text, graded(text), text)])),
  };
}

const small = inject("thorough") ? 5_000 : 800;
const times = 4;

function work(read: Reader, size: number, which: readonly string[]): number {
  const texts = which.map((unit) => shape(unit, size));
  const run = () => {
    for (const text of texts) {
      try {
        read(text);
      } catch {
        // Refused.
      }
    }
  };
  const { steps, characters } = countWork(run);
  return steps + characters;
}

/** How many times the work four times the text is: 4 where it is linear, 16 where it is quadratic. */
function growth(read: Reader, which: readonly string[]): number {
  // A first call loads, and fills caches.
  work(read, 100, which);
  return work(read, times * small, which) / Math.max(1, work(read, small, which));
}

/** With a tenth for sorting and for what V8 counts twice. */
const most = times * 1.4;

function expectLinear(read: Reader): void {
  if (growth(read, Object.values(units)) < most) return;
  const slow = Object.entries(units).flatMap(([name, unit]) => {
    const grown = Math.min(growth(read, [unit]), growth(read, [unit]), growth(read, [unit]));
    return grown < most ? [] : [`${name}: ${grown.toFixed(1)} times the work for ${times} times the text`];
  });
  expect(slow).toEqual([]);
}

const found = inventory();

async function readerOf({ name, file, bytes, exported }: (typeof found)[number]): Promise<Reader> {
  const module = (await import(file)) as Record<string, (...args: readonly unknown[]) => unknown>;
  const args = further[name] ?? [];
  return (text) => {
    const answer = module[exported]?.(bytes ? inBytes.encode(text) : text, ...args);
    if (answer instanceof Promise) answer.catch(() => undefined);
    // A generator works when it is asked.
    return typeof answer === "object" && answer !== null && Symbol.iterator in answer ? [...(answer as never)] : answer;
  };
}

describe("a function whose first parameter is a text takes linear work", () => {
  it.each(found.filter(({ name }) => leftOut[name] === undefined))("$name", async (one) => {
    const read = await readerOf(one);
    // One that fails for want of an argument would not be counted.
    const failed = await Promise.resolve()
      .then(() => read("a"))
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(failed instanceof TypeError ? failed.stack : null).toBe(null);
    expectLinear(read);
  });

  it("and what is said of one here is of one that exists", () => {
    const names = new Set(found.map(({ name }) => name));
    expect([...Object.keys(further), ...Object.keys(leftOut)].filter((name) => !names.has(name))).toEqual([]);
  });
});

const known = await others();

describe("a function that takes its text otherwise takes linear work", () => {
  it.each(Object.keys(known))("%s", (name) => expectLinear(known[name] as Reader));
});

/** Deeper than any recursion goes: whoever walks such a value ends with a full stack. */
const levels = 10_000;
const nestedTo = (depth: number): readonly string[] => {
  const brackets = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  return [
    brackets,
    `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    `\`\`\`json\n${brackets}\n\`\`\`\n`,
    `{"query": "a", "tests": [{"name": "a", "output": ${brackets}}], "status": "a", "criteria": {}, "cells": []}`,
    `data: ${brackets}\n`,
  ];
};

/** Not of others: what these read was written by this program. */
const ours: ReadonlySet<string> = new Set([
  "classroom/gradebook/import-rules/classroom.ts classroomTotals",
  "classroom/gradebook/import-rules/gradescope.ts gradescopeProblems",
  "grading/stored-results.ts storedResults",
  "llm/vectors-text.ts readVectors",
  "base/processes/process-identity.ts readIdentity",
]);

/** What a function hands to the parser of JSON, and the error of a full stack that it ends with. */
function parsedBy(
  read: Reader,
  text: string,
): { readonly parsed: readonly string[]; readonly overflow: string | null } {
  const { parse } = JSON;
  const parsed: string[] = [];
  let overflow: string | null = null;
  JSON.parse = (json: string, ...more: never[]) => {
    parsed.push(json);
    return parse(json, ...more);
  };
  try {
    read(text);
  } catch (error) {
    if (error instanceof RangeError && error.message.includes("call stack")) overflow = error.message;
  } finally {
    JSON.parse = parse;
  }
  return { parsed, overflow };
}

describe("JSON that is nested deeply", () => {
  it("is parsed by no function, and fills no stack", async () => {
    const readers = found.filter(({ name }) => leftOut[name] === undefined && !ours.has(name));
    const all = [...Object.entries(known)];
    for (const one of readers) all.push([one.name, await readerOf(one)]);
    // Most functions parse no JSON at all.
    const parsing = all.filter(([, read]) => nestedTo(2).some((text) => parsedBy(read, text).parsed.length > 0));
    expect(parsing.length).toBeGreaterThan(10);
    const wrong = parsing.flatMap(([name, read]) =>
      nestedTo(levels).flatMap((text) => {
        const { parsed, overflow } = parsedBy(read, text);
        const deep = parsed.some((json) => isTooDeep(json));
        return deep || overflow !== null ? [`${name}, ${text.slice(0, 40)}: ${overflow ?? "is parsed"}`] : [];
      }),
    );
    expect(wrong).toEqual([]);
  });
});
