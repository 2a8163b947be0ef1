import { expect, it } from "vitest";
import { readJsonReply } from "./json-in-reply.ts";

const json = '{"points": 3}';
it.each([
  ["plain", json],
  ["with a byte order mark", `\ufeff${json}`],
  ["in a fence", `\`\`\`\n${json}\n\`\`\``],
  ["in a fence tagged json", `\`\`\`json\n${json}\n\`\`\`\n`],
  ["in a fence tagged JSON", `\`\`\`JSON\n${json}\n\`\`\``],
  ["in a fence tagged jsonc", `\`\`\`jsonc\n${json}\n\`\`\``],
  ["in an indented fence", `  \`\`\`json\n  ${json}\n  \`\`\``],
  ["in a long fence", `\`\`\`\`json\n${json}\n\`\`\`\``],
  ["with Windows line ends", `\`\`\`json\r\n${json}\r\n\`\`\`\r\n`],
  ["with words around the fence", `Here it is:\n\n\`\`\`json\n${json}\n\`\`\`\n\nTell me if you need more.`],
  ["in a fence without a last newline", `\`\`\`json\n${json}\`\`\``],
  ["in a fence without an end", `\`\`\`json\n${json}\n`],
  ["beside a fence of code", `\`\`\`sh\nls\n\`\`\`\n\`\`\`json\n${json}\n\`\`\``],
  ["in a fence of tildes", `~~~json\n${json}\n~~~`],
  ["in a fence on one line", `\`\`\`${json}\`\`\``],
  ["in a tagged fence on one line", `Here: \n\`\`\`json ${json} \`\`\``],
  ["in a fence that is an item of a list", `1. \`\`\`json\n   ${json}\n   \`\`\``],
  ["with a byte order mark inside the fence", `\`\`\`json\n\ufeff${json}\n\`\`\``],
  ["with comments", `\`\`\`jsonc\n// said /* so\n{"points": /* of 5 */ 3} // end\n\`\`\``],
  ["with a comma too many", `\`\`\`jsonc\n{"points": 3, // last\n}\n\`\`\``],
  ["with words before the fence on its line", `Here it is: \`\`\`json\n${json}\n\`\`\``],
  ["with words behind the fence on its line", `\`\`\`json\n${json} \`\`\` I hope it helps.`],
  ["with words around a fence of one line", `Here: \`\`\`json ${json}\`\`\`, as you asked.`],
  ["in a fence with emphasis", `**\`\`\`json\n${json}\n\`\`\`**`],
  ["in a fence inside of tags", `<answer>\`\`\`json\n${json}\n\`\`\`</answer>`],
  ["in a fence that is quoted", `> Here:\n>\n> \`\`\`json\n> {\n>   "points": 3\n> }\n> \`\`\`\n`],
  ["with a byte order mark and a fence", `\ufeff\`\`\`json\n${json}\n\`\`\``],
])("reads JSON %s", (_, reply) => {
  expect(readJsonReply(reply)).toEqual({ value: { points: 3 } });
});

it("keeps a text in JSON that looks like a fence", () => {
  const value = { code: "```js\n1\n```" };
  expect(readJsonReply(JSON.stringify(value))).toEqual({ value });
});

it("keeps what looks like a comment or a comma too many in a text of JSON", () => {
  const value = { a: "// no /* , ] \\", b: ["x,}", '"//'] };
  expect(readJsonReply(`\`\`\`jsonc\n// yes\n${JSON.stringify(value)}\n\`\`\``)).toEqual({ value });
});

it.each(["[1,,2,]", "[,]", '{"a":1,,}', '{"a": "open // \n}', "{/* open", "[1, 2"])(
  "%s is not JSON, with comments or without",
  (text) => {
    expect(readJsonReply(`\`\`\`jsonc\n${text}\n\`\`\``)).toEqual({ why: expect.stringMatching(/\S/) });
  },
);

it("takes no JSON that a reply quotes from somebody else", () => {
  const reply = 'I cannot judge this. It says:\n\n> ```json\n> {"points": 5}\n> ```\n\nPlease look at it.';
  expect(readJsonReply(reply)).toEqual({ why: expect.stringMatching(/\S/) });
});

it("does not choose between two blocks of JSON", () => {
  const block = (text: string) => `\`\`\`json\n${text}\n\`\`\`\n`;
  const why = "it has 2 blocks of JSON";
  expect(readJsonReply(block('{"points": 1}') + block('{"points": 5}'))).toEqual({ why });
  expect(readJsonReply('Either ```{"points": 1}```\nor ```{"points": 5}```')).toEqual({ why });
});

it.each(["", "no JSON", "```json\n{\n```", "```"])("says why %j is none", (reply) => {
  expect(readJsonReply(reply)).toEqual({ why: expect.stringMatching(/\S/) });
});
