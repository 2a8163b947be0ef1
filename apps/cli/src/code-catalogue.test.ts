import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { variables } from "@markmill/config";
import { limitSettingNames, modelSettingNames } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { codeCatalogue } from "./code-catalogue.ts";
import { writeCodesPage } from "./write-codes-page.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const sources = globSync("{packages,apps}/*/src/**/*.ts", { cwd: root })
  .filter((file) => !/\.(?:test|bench)\.ts$|\/testing-/.test(file))
  .map((file) => ({ file, text: readFileSync(`${root}/${file}`, "utf8") }));
const entries = codeCatalogue.flatMap((group) => group.entries.map((entry) => ({ group: group.title, ...entry })));
const codes = new Set(entries.map(({ code }) => code));

/** Words in the form of a code that are not our codes: environment variables, settings, names in other languages. */
const others = new Set<string>([
  ...variables.map(({ name }) => name),
  ...limitSettingNames,
  ...Object.keys(modelSettingNames),
  ...["EXIT_CODE", "TEST_RESULTS", "ON_SUCCESS", "ON_FAILED", "MARKMILL_NONE_SESSION", "PG_VERSION", "PROMPT_REVIEW"],
  ...[
    "UND_ERR_SOCKET",
    "UND_ERR_CONNECT_TIMEOUT",
    "ERR_PARSE_ARGS",
    "HPE_HEADER_OVERFLOW",
    "ERR_BUFFER_TOO_LARGE",
    "ERR_HTTP_REQUEST_TIMEOUT",
    "ABORT_ERR",
    "ERR_STREAM_PREMATURE_CLOSE",
    "ERR_STREAM_DESTROYED",
    "WHEN_REQUIRED",
    "FETCH_HEAD",
  ],
]);
/** In the files that define codes of models and scripts, the codes have no prefix. */
const isCode = (word: string) => [word, `MODELS_${word}`, `SCRIPT_${word}`].some((code) => codes.has(code));

describe("the catalogue of codes", () => {
  it("equals docs/codes.md: `node apps/cli/src/write-codes-page.ts > docs/codes.md`", () => {
    expect(readFileSync(`${root}/docs/codes.md`, "utf8")).toBe(writeCodesPage());
  });

  it("contains every code in the source", () => {
    const unknown = sources.flatMap(({ file, text }) =>
      Array.from(text.matchAll(/"([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)"/g), ([, word = ""]) => word)
        .filter((word) => !isCode(word) && !others.has(word) && !word.startsWith("SCMP_"))
        .map((word) => `${file}: ${word}`),
    );
    expect(unknown).toEqual([]);
  });

  it("contains no code that the source does not use", () => {
    const text = sources.map((source) => source.text).join("\n");
    const given = (code: string) => text.includes(`"${code}"`);
    const never = entries
      .filter(({ group }) => group !== "Problems of the API")
      .filter(({ code }) => !given(code) && !given(code.replace(/^(?:MODELS|SCRIPT)_/, "")));
    expect(never.map(({ code }) => code)).toEqual([]);
  });

  it("has a sentence for each meaning and for each fix", () => {
    const poor = entries.filter(({ means, fix }) => !/^\S.{8,}[.:]$/.test(means) || !/^\S.{6,}\.$/.test(fix));
    expect(poor).toEqual([]);
  });

  it("contains each code once per group", () => {
    for (const { title, entries: own } of codeCatalogue)
      expect([title, own.length]).toEqual([title, new Set(own.map(({ code }) => code)).size]);
  });
});
