// The command in a folder with a student's files: its .env, its links, its names.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { writeWorkflows } from "./cli-workflows.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
let server: Server;
const heard: string[] = [];

beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({}, { jail: "proven", postgres: "running" });
  writeWorkflows(place.cwd);
  server = createServer((request, response) => {
    heard.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  writeFileSync(
    join(place.cwd, "submission/.env"),
    `OPENAI_BASE_URL=${url}\nSANDBOX=none\nDATABASE_URL=postgresql://x@127.0.0.1:9/x\n`,
  );
});
afterAll(async () => {
  await resident.close();
  server.close();
  await place.remove();
});

/** The teacher's shell: a key and no endpoint, which means the default one. */
const inside = (): MarkmillPlace => ({
  ...place,
  cwd: join(place.cwd, "submission"),
  env: { MARKMILL_HOME: join(place.cwd, ".markmill"), OPENAI_API_KEY: "hunter2" },
});

describe("a student's .env", () => {
  it("gets neither the key nor the bare machine, with or without --submission, also in the second run", async () => {
    for (const submission of [["--submission", "."], [], []]) {
      const args = ["run", "../list.wf.md", "--root", "..", ...submission, "--max-time", "1ms"];
      const { stderr } = await markmill(inside(), args);
      expect(stderr).toMatch(/note: .*\.env (is inside the submission|is ignored)/);
      expect(stderr).not.toMatch(/without a sandbox|STORE_UNREACHABLE/);
    }
    const doctor = await resident.say(inside(), ["doctor", "--quick"]);
    expect(doctor.stdout).toContain("models at https://api.openai.com/v1, key set");
    expect(heard).toEqual([]);
  });

  it("in a project of the user gets no key of the environment", async () => {
    const project = join(place.cwd, "project");
    mkdirSync(join(project, ".markmill"), { recursive: true });
    writeFileSync(join(project, ".env"), "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n");
    expect((await resident.say({ ...inside(), cwd: project }, ["trust"])).code).toBe(0);
    const { code, stderr } = await resident.say({ ...inside(), cwd: project }, ["status"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/CONFIG_KEY_ELSEWHERE: OPENAI_API_KEY comes from the environment[\s\S]*fix: /);
    expect(stderr).not.toContain("hunter2");
  });
});

describe("a workflow that asks for secrets", () => {
  const chart = (lines: string) => `# W\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n    ${lines}\n\`\`\`\n`;

  it.each([
    ['START --> ASSIGN_A["Assign: file:/.env"]', "FILE_PROTECTED"],
    ['START --> ASSIGN_A["Assign: file:notes.md"]', "FILE_PROTECTED"],
    ['START --> ASSIGN_A["Assign: file:state/record.md"]', "FILE_PROTECTED"],
    ["START --> SUCCESS\n```\n\n!INCLUDE /.env\n\n```", "INCLUDE_PROTECTED"],
  ])("gets no secrets: %s", async (lines, code) => {
    writeFileSync(join(place.cwd, ".env"), "OPENAI_API_KEY=hunter2\n");
    writeFileSync(join(place.cwd, "thief.wf.md"), chart(lines));
    mkdirSync(join(place.cwd, "state"), { recursive: true });
    writeFileSync(join(place.cwd, "state/record.md"), "hunter2");
    try {
      symlinkSync(".env", join(place.cwd, "notes.md"));
    } catch {}
    const {
      code: exit,
      stdout,
      stderr,
    } = await resident.say({ ...place, env: { MARKMILL_HOME: join(place.cwd, "state"), OPENAI_API_KEY: "" } }, [
      "run",
      "thief.wf.md",
    ]);
    expect({ exit, stdout }).toEqual({ exit: 6, stdout: "" });
    expect(stderr).toContain(code);
    expect(stderr).not.toContain("hunter2");
  });
});
