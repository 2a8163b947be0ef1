import { describe, expect, it } from "vitest";
import { formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";

function read(matter: string) {
  const { program, findings } = parseWorkflow(
    `---\n${matter}\n---\n# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nSTART --> SUCCESS\n\`\`\`\n`,
    "a.wf.md",
  );
  return { program, codes: findings.map(({ code }) => code), messages: findings.map(({ message }) => message) };
}

describe("params in the front matter", () => {
  it("numbers and booleans are text as written", () => {
    const { program } = read(
      "params: { POINTS: 10, SHARE: 1.50, ID: 007, BIG: 12345678901234567890, STRICT: true, N: }",
    );
    expect(program?.params).toEqual([
      { name: "POINTS", default: "10" },
      { name: "SHARE", default: "1.50" },
      { name: "ID", default: "007" },
      { name: "BIG", default: "12345678901234567890" },
      { name: "STRICT", default: "true" },
      { name: "N", default: null },
    ]);
  });

  it("names that differ only by an underscore keep their own values", () => {
    expect(read("params: { a_b: 1, aB: 2 }").program?.params).toEqual([
      { name: "a_b", default: "1" },
      { name: "aB", default: "2" },
    ]);
  });

  it("lists are refused", () => {
    expect(read("params: { A: [1] }").codes).toEqual(["FRONT_MATTER_VALUE"]);
  });
});

describe("amounts beyond the bounds", () => {
  it.each([
    ["limits: { time: 999999d }", "limits.time: expected at most 10 years (3650d)."],
    ["limits: { time: 1e30 }", "limits.time: expected at most 10 years (3650d)."],
    ["limits: { cost: 9999999 }", "limits.cost: expected at most $9000000."],
    ["sandbox: { wall: 4000d }", "sandbox.wall: expected at most 10 years (3650d)."],
    ["sandbox: { memory: 9999999t }", "sandbox.memory: expected at most 8191t."],
  ])("refuses %s", (matter, message) => {
    expect(read(matter).messages).toEqual([message]);
  });

  it.each(["tokens: 0", "characters: 0", "hits: 0", "steps: 1.5", "tokens: 9007199254740993", "depth: -1"])(
    "refuses the count %s",
    (limit) => {
      expect(read(`limits: { ${limit} }`).codes).toEqual(["FRONT_MATTER_VALUE"]);
    },
  );
});

describe("prompts in the front matter", () => {
  it("take their role from their first word in any case", () => {
    expect(read('prompts: { "user A": "x" }').program?.prompts).toEqual({ "user A": { role: "user", text: "x" } });
  });
});

describe("duplicate keys", () => {
  it("are refused at every level", () => {
    expect(read("name: a\nname: b").messages).toEqual(["The front matter is not valid YAML: name is given twice."]);
    expect(read("params: { A: 1, B: 2, A: 3 }").codes).toEqual(["FRONT_MATTER_YAML"]);
    expect(read('params: { 1: a, "1": b }').codes).toEqual(["FRONT_MATTER_YAML"]);
    expect(read("agents: { A: {}, B: {} }\nsettings: {}").codes).toEqual([]);
  });
});

describe("tools in the front matter", () => {
  const chart = (matter: string, more = "") =>
    parseWorkflow(
      `---\n${matter}\n---\n# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nSTART --> PROMPT_A["Prompt: User A"] --> PROMPT_B["Prompt: User A"] --> SUCCESS\n${more}\n\`\`\`\n# Prompts\n## User A\nHi\n`,
      "a.wf.md",
    );
  const matter = `tools:
  weather:
    description: Weather of a city.
    url: https://api.example.org/{city}
    headers: { X-Api-Key: { secret: WEATHER }, Authorization: { secret: TOKEN, before: "Bearer " }, Accept: text/plain }
    schema: { type: object, properties: { city: { type: string } }, required: [city] }
    repeat: safe
    timeout: 10s
  order: { description: Orders., url: "https://api.example.org/orders", method: POST }
  add: { description: Adds., function: add }
  search: serper`;

  it("every PROMPT offers them, or only those that it names, and the program can be formatted again", () => {
    const { program, findings } = chart(matter, 'PROMPT_B@{ tools: "weather, search", rounds: 3 }');
    expect(findings).toEqual([]);
    expect(program?.tools).toMatchObject({
      weather: {
        kind: "http",
        method: "GET",
        headers: { "X-Api-Key": { secret: "WEATHER" }, Authorization: { secret: "TOKEN", before: "Bearer " } },
        repeat: "safe",
        timeoutMs: 10_000,
      },
      order: { kind: "http", method: "POST", schema: { type: "object" } },
      add: { kind: "function", function: "add" },
      search: { kind: "builtin", builtin: "serper" },
    });
    expect(program?.nodes).toMatchObject({
      PROMPT_A: { tools: ["weather", "order", "add", "search"] },
      PROMPT_B: { tools: ["weather", "search"], rounds: 3 },
    });
    if (program === null) throw new Error("no program");
    const again = parseWorkflow(formatWorkflow(program), "a.wf.md");
    expect([again.program, again.findings]).toEqual([program, []]);
    const none = chart(matter, "PROMPT_B@{ tools: none }").program;
    expect(none?.nodes.PROMPT_B).not.toHaveProperty("tools");
    if (none === null || none === undefined) throw new Error("no program");
    expect(parseWorkflow(formatWorkflow(none), "a.wf.md").program).toEqual(none);
  });

  it("tools and servers can run in the sandbox session, by a command of the author or the model, and the program can be formatted again", () => {
    const inSession = `tools:
  words:
    description: Counts words.
    command: wc -w -- {{file}}
    schema: { type: object, properties: { file: { type: string } }, required: [file] }
    timeout: 10s
  shell: { description: Any command., command: null, repeat: safe }
mcp:
  lint: { command: [node, lint.mjs, --fast], env: { MODE: strict }, tools: [check] }
  plain: { command: ./serve, tools: [go] }`;
    const { program, findings } = chart(inSession, "PROMPT_B@{ tools: none }");
    expect(findings).toEqual([]);
    expect(program?.tools).toMatchObject({
      words: { kind: "sandbox", command: "wc -w -- {{file}}", timeoutMs: 10_000 },
      shell: { kind: "sandbox", command: null, repeat: "safe", schema: { required: ["command"] } },
      lint__check: { kind: "mcp", server: "lint", tool: "check" },
    });
    expect(program?.mcp).toEqual({
      lint: { transport: "stdio", command: ["node", "lint.mjs", "--fast"], environment: { MODE: "strict" } },
      plain: { transport: "stdio", command: ["./serve"] },
    });
    if (program === null) throw new Error("no program");
    const again = parseWorkflow(formatWorkflow(program), "a.wf.md");
    expect([again.program, again.findings]).toEqual([program, []]);
  });

  it("of MCP servers, only the allowed tools are offered, named after their server, and the program can be formatted again", () => {
    const servers = `${matter}
mcp:
  docs:
    url: https://docs.example.org/mcp
    headers: { Authorization: { secret: DOCS, before: "Bearer " } }
    tools: [search, { name: pages.read, repeat: safe, timeout: 20s }]
  city-maps: { url: "https://maps.example.org/", tools: [find] }`;
    const { program, findings } = chart(servers, 'PROMPT_B@{ tools: "docs__pages_read, weather" }');
    expect(findings).toEqual([]);
    expect(program?.mcp).toEqual({
      docs: {
        transport: "http",
        url: "https://docs.example.org/mcp",
        headers: { Authorization: { secret: "DOCS", before: "Bearer " } },
      },
      "city-maps": { transport: "http", url: "https://maps.example.org/" },
    });
    const mcp = { kind: "mcp", description: "", schema: { type: "object" } };
    expect(program?.tools).toMatchObject({
      docs__search: { ...mcp, server: "docs", tool: "search" },
      docs__pages_read: { ...mcp, server: "docs", tool: "pages.read", repeat: "safe", timeoutMs: 20_000 },
      "city-maps__find": { ...mcp, server: "city-maps", tool: "find" },
    });
    const all = ["weather", "order", "add", "search", "docs__search", "docs__pages_read", "city-maps__find"];
    expect(program?.nodes).toMatchObject({
      PROMPT_A: { tools: all },
      PROMPT_B: { tools: ["docs__pages_read", "weather"] },
    });
    if (program === null) throw new Error("no program");
    const again = parseWorkflow(formatWorkflow(program), "a.wf.md");
    expect([again.program, again.findings]).toEqual([program, []]);
  });

  it.each([
    ["mcp: { s: { tools: [a] } }", /mcp\.s\.url: expected url, or command/],
    ["mcp: { s: { command: 'npx server', tools: [a] } }", /mcp\.s\.command: expected a program, or a list/],
    ["mcp: { s: { command: [], tools: [a] } }", /mcp\.s\.command: expected a program, or a list/],
    ["mcp: { s: { command: [node, 7], tools: [a] } }", /mcp\.s\.command/],
    ["mcp: { s: { url: 'https://h/', command: x, tools: [a] } }", /url is not a setting of mcp\.s/],
    ["mcp: { s: { command: x, headers: { A: b }, tools: [a] } }", /headers is not a setting of mcp\.s/],
    ["mcp: { s: { command: x, env: { 'A B': c }, tools: [a] } }", /mcp\.s\.env/],
    ["mcp: { s: { url: 'https://h/' } }", /mcp\.s\.tools: expected a list/],
    ["mcp: { s: { url: 'https://h/', tools: [] } }", /mcp\.s\.tools/],
    ["mcp: { s: { url: 'https://h/', tools: ['*', 7] } }", /mcp\.s\.tools\.1: expected the name of a tool/],
    ["mcp: { s: { url: 'https://h/', tools: [{ name: a, repeat: maybe }] } }", /mcp\.s\.tools\.0/],
    ["mcp: { s: { url: 'https://h/{x}', tools: [a] } }", /without \{places\}/],
    ["mcp: { s: { url: 'file:///etc', tools: [a] } }", /http or https/],
    ["mcp: { s: { url: 'https://me:pw@h/', tools: [a] } }", /http or https/],
    ["mcp: { 's t': { url: 'https://h/', tools: [a] } }", /mcp/],
    ["mcp: { s: { url: 'https://h/', tools: [a], tols: 1 } }", /tols is not a setting of mcp\.s/],
    ["mcp: { s: { url: 'https://h/', tools: [a.b, a_b] } }", /two tools with the name s__a_b/],
    [`mcp: { s: { url: 'https://h/', tools: [${"x".repeat(70)}] } }`, /longer than 64/],
    [
      `mcp: { s: { url: 'https://h/', tools: [${Array.from({ length: 65 }, (_, n) => `t${n}`).join(", ")}] } }`,
      /at most 64/,
    ],
    ["tools: { s__a: serper }\nmcp: { s: { url: 'https://h/', tools: [a] } }", /tools\.s__a: a tool of an MCP server/],
    [
      `tools: {${Array.from({ length: 60 }, (_, n) => `t${n}: serper`).join(", ")}}\nmcp: { s: { url: 'https://h/', tools: [a, b, c, d, e] } }`,
      /at most 64 tools together/,
    ],
  ])("a tool of an MCP server in the form %s is refused", (written, message) => {
    expect(read(written).messages.join("\n")).toMatch(message);
  });

  it.each([
    ["tools: { a: google }", /tools\.a: expected a description/],
    ["tools: { 'a b': serper }", /tools/],
    ["tools: { a: { description: x } }", /tools\.a\.url/],
    ["tools: { a: { description: x, url: 'ftp://h/' } }", /http or https/],
    ["tools: { a: { description: x, url: 'https://{h}.example/' } }", /no \{place\}/],
    ["tools: { a: { description: x, url: 'https://me:pw@h.example/' } }", /http or https/],
    ["tools: { a: { description: x, function: f, url: 'https://h/' } }", /url/],
    ["tools: { a: { description: x, function: f, schema: { type: string } } }", /type: object/],
    [
      "tools: { a: { description: x, function: f, schema: &s { type: object, properties: { n: *s } } } }",
      /holds itself|cannot be read/,
    ],
    [
      "tools: { a: { description: x, function: f, schema: { type: object, properties: 7 } } }",
      /properties of the schema/,
    ],
    ["tools: { a: { description: x, command: ' ' } }", /tools\.a\.command: expected a command/],
    ["tools: { a: { description: x, command: 7 } }", /tools\.a\.command: expected a command, or null/],
    ["tools: { a: { description: x, command: 'wc {{f}}' } }", /tools\.a\.command: \{\{f\}\} is no argument/],
    [
      "tools: { a: { description: x, command: 'wc {{{f}}}', schema: { type: object, properties: { f: {} } } } }",
      /would let the model write shell/,
    ],
    ["tools: { a: { description: x, command: null, schema: { type: object } } }", /tools\.a\.schema: the model gives/],
    ["tools: { a: { description: x, function: f, repeat: maybe } }", /repeat/],
    ["tools: { a: { description: x, url: 'https://h/', headers: { 'X Y': z } } }", /headers/],
    [`tools: {${Array.from({ length: 65 }, (_, n) => `t${n}: serper`).join(", ")}}`, /at most 64/],
  ])("a tool in the form %s is refused", (written, message) => {
    const { messages } = read(written);
    expect(messages.join("\n")).toMatch(message);
  });

  it("unknown tools and invalid rounds are reported with their place", () => {
    const { findings } = chart("tools: { search: serper }", "PROMPT_A@{ tools: serch }\nPROMPT_B@{ rounds: many }");
    expect(findings.map(({ code, at, fix }) => [code, at.line, /search/.test(fix)])).toEqual([
      ["ATTRIBUTE_VALUE", 9, true],
      ["ATTRIBUTE_VALUE", 10, false],
    ]);
  });
});
