// Submissions in git repositories over real ssh and https: the commit before the deadline, a token that only its host sees, no redirects.
// Addresses that students wrote into a roster get no credential of the teacher and no submission of another student.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultLimits } from "@markmill/grading/submission";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FetchOptions, fetchRepository } from "../../packages/classroom/src/fetch-repository.ts";
import { readClassHead, readClassWorks } from "../../packages/classroom/src/read-class-folder.ts";
import { readAddress } from "../../packages/classroom/src/repository-address.ts";
import { addressRules } from "../../packages/tools/src/address-rules.ts";
import { reportSkip } from "../support/ask-services.ts";
import { giveToSshUser, type SshServer, startSshServer } from "../support/ssh-server.ts";

const folder = mkdtempSync(join(tmpdir(), "markmill-git-"));
chmodSync(folder, 0o755);
const repository = join(folder, "ada.git");
const limits = defaultLimits;
const deadline = Date.parse("2026-11-05T00:00:00Z");
const git = (cwd: string, day: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@x", "-c", "init.defaultBranch=main", ...args], {
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      GIT_COMMITTER_DATE: `${day}T12:00:00Z`,
      GIT_AUTHOR_DATE: `${day}T12:00:00Z`,
    },
  });

const work = join(folder, "work");
execFileSync("mkdir", [work]);
git(work, "2026-11-01", "init", "-q", ".");
for (const [day, text] of [
  ["2026-11-01", "first"],
  ["2026-11-10", "too late"],
] as const) {
  writeFileSync(join(work, "a.js"), text);
  git(work, day, "add", "-A");
  git(work, day, "commit", "-qm", day);
}
git(folder, "2026-11-10", "clone", "-q", "--bare", work, repository);
git(repository, "2026-11-10", "update-server-info");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An address as class.yaml has it. */
const fetchWritten = async (written: string, options: Partial<FetchOptions>) =>
  await fetchRepository(await readAddress(written), { allow: "any", limits, ...options });

let classes = 0;
/** The submissions of a class with this roster and these settings. */
async function readWorks(roster: readonly string[], settings: string, options: Parameters<typeof readClassWorks>[1]) {
  classes += 1;
  const place = join(folder, `class-${classes}`);
  execFileSync("mkdir", ["-p", place]);
  writeFileSync(join(place, "roster.csv"), roster.join("\r\n"));
  writeFileSync(join(place, "class.yaml"), `roster: roster.csv\n${settings}\n`);
  const head = await readClassHead(place);
  if (!head.ok) throw new Error(JSON.stringify(head.findings));
  const read = await readClassWorks(head.head, options);
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  const { submissions, unfetched, withoutWork } = read.class.intake;
  const codes = read.findings.map(({ code, about }) => [about, code]);
  return { mapping: head.head.roster?.mapping, submissions, unfetched, withoutWork, codes, findings: read.findings };
}

const contentOf = ({ entries }: Awaited<ReturnType<typeof fetchRepository>>) =>
  entries.flatMap((entry) => (entry.kind === "file" ? `${entry.path}: ${entry.bytes.toString()}` : []));

const served = join(folder, "served.git");
git(folder, "2026-11-10", "clone", "-q", "--bare", work, served);
giveToSshUser(served);
const ssh: SshServer | Error = await startSshServer(
  join(import.meta.dirname, "../../.cache"),
  join(folder, "ssh"),
).catch((error: Error) => error);
if (ssh instanceof Error) await reportSkip({ what: "repositories over ssh", reason: ssh.message });

describe.skipIf(ssh instanceof Error)("a git repository over ssh", () => {
  const server = ssh as SshServer;
  const access = { sshKey: server.key, knownHosts: server.knownHosts };
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${served}`;
  afterAll(() => server.stop());

  it("its last commit before the deadline is read with the configured key", async () => {
    const read = await fetchWritten(url, { limits, deadline, access });
    expect(contentOf(read)).toEqual(["a.js: first"]);
    expect(contentOf(await fetchWritten(url, { limits, access }))).toEqual(["a.js: too late"]);
  });

  it("an unknown host and an unknown key are refused without a prompt", async () => {
    const stranger = join(folder, "stranger");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", stranger]);
    await expect(fetchWritten(url, { limits, access: { ...access, knownHosts: "/dev/null" } })).rejects.toThrow(
      /Host key verification failed|No ED25519 host key/,
    );
    await expect(fetchWritten(url, { limits, access: { ...access, sshKey: stranger } })).rejects.toThrow(
      /Permission denied/,
    );
  });

  it("a roster assigns repositories, and a failed one stops only that submission and is not blamed on the student", async () => {
    const at = `ssh://${server.user}@127.0.0.1:${server.port}`;
    const { mapping, submissions, unfetched, withoutWork, findings } = await readWorks(
      [
        "id;Name;Repo URL",
        `1;Ada;${url}`,
        "2;Bea;ext::sh -c id",
        "3;Cem;",
        `4;Dan;file://${work}`,
        `5;Eve;${at}${served}-none`,
      ],
      `repositories: { from: roster, allow: ["${at}${folder}/"] }\ndeadline: 2026-11-05T00:00:00Z`,
      { git: access },
    );
    expect(mapping).toContainEqual({ header: "Repo URL", as: "repository" });
    expect(submissions.map(({ by, content }) => [by[0], content.is])).toEqual([
      ["1", "taken"],
      ["2", "refused"],
      ["4", "refused"],
    ]);
    expect(unfetched).toMatchObject([{ key: "5#1", by: ["5"] }]);
    expect(findings).toContainEqual(expect.objectContaining({ code: "INTAKE_NOT_FETCHED", about: "5" }));
    expect(JSON.stringify(submissions[0])).toMatch(/commit [0-9a-f]{40} of 2026-11-01/);
    expect(withoutWork).toEqual(["3"]);
    expect(JSON.stringify(submissions[2])).toContain("outside the folder of the class");
  });

  it("a key is used only for addresses at places that class.yaml names", async () => {
    const read = async (settings: string) =>
      await readWorks(["id;Name;Repo URL", `1;Ada;${url}`], settings, { git: access });
    for (const settings of [
      "repositories: roster",
      `repositories: { from: roster, allow: ["ssh://${server.user}@127.0.0.1:${server.port}${folder}/other/"] }`,
      `repositories: { from: roster, allow: ["ssh://${server.user}@127.0.0.1${folder}/"] }`,
    ]) {
      const { submissions, unfetched, codes } = await read(settings);
      expect(submissions).toEqual([]);
      expect(unfetched).toMatchObject([{ key: "1#1" }]);
      expect(codes).toEqual([["1", "INTAKE_REPOSITORY_NOT_ALLOWED"]]);
    }
  });
});

describe("a git repository over https", () => {
  let server: Server;
  let url: string;
  const asked: { readonly path: string; readonly authorization: string | undefined }[] = [];
  const caFile = join(folder, "cert.pem");

  beforeAll(async () => {
    const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    execFileSync("openssl", [...args, ...subject, "-keyout", join(folder, "key.pem"), "-out", caFile], {
      stdio: "ignore",
    });
    const options = { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(caFile) };
    server = createServer(options, ({ url: path = "", headers }, response) => {
      asked.push({ path, authorization: headers.authorization });
      if (path.startsWith("/private/") && headers.authorization === undefined)
        return void response.writeHead(401).end();
      if (path.startsWith("/moved/")) {
        return void response.writeHead(302, { location: path.replace("/moved/", "/open/") }).end();
      }
      try {
        response.end(readFileSync(join(repository, path.replace(/^\/\w+\/ada\.git\//, "").split("?")[0] ?? "")));
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it("it is read only if its certificate is trusted", async () => {
    const read = await fetchWritten(`${url}/open/ada.git`, { limits, deadline, access: { caFile } });
    expect(contentOf(read)).toEqual(["a.js: first"]);
    await expect(fetchWritten(`${url}/open/ada.git`, { limits })).rejects.toThrow(/certificate/i);
  });

  it("a redirect is refused with advice, and the token does not follow it", async () => {
    const token = { host: url.replace("https://", ""), value: "very-secret" };
    asked.splice(0);
    const moved = fetchWritten(`${url}/moved/ada.git`, { access: { caFile, token } });
    await expect(moved).rejects.toMatchObject({ fix: expect.stringContaining(".git at the end") });
    expect(asked.map(({ path }) => path.split("/")[1])).toEqual(["moved"]);
  });

  it("a token is sent only to its host", async () => {
    const token = { host: url.replace("https://", ""), value: "very-secret" };
    asked.splice(0);
    const read = await fetchWritten(`${url}/private/ada.git`, { limits, access: { caFile, token } });
    expect(contentOf(read)).toEqual(["a.js: too late"]);
    const basic = `Basic ${Buffer.from("x-access-token:very-secret").toString("base64")}`;
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([basic]));
    asked.splice(0);
    const other = { ...token, host: "github.com" };
    const refused = await fetchWritten(`${url}/private/ada.git`, { limits, access: { caFile, token: other } }).catch(
      String,
    );
    expect(refused).not.toContain("very-secret");
    expect(asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  describe("a git repository that a roster names", () => {
    const roster = (...rows: string[]) => ["id;Name;Group;Repo URL", ...rows];
    const token = () => ({ host: url.replace("https://", ""), value: "very-secret" });
    const access = () => ({ caFile, token: token() });

    it("an address gets the token only at a place that class.yaml names, also on the same host", async () => {
      asked.splice(0);
      const { submissions, codes } = await readWorks(
        roster(`1;Ada;;${url}/private/ada.git`, `2;Bea;;${url}/open/ada.git`),
        `repositories: { from: roster, allow: ["${url}/private/"] }`,
        { git: access() },
      );
      expect(submissions.map(({ key, content }) => [key, content.is])).toEqual([["1#1", "taken"]]);
      // The other address is not public, so it got no request.
      expect(codes).toEqual([["2", "INTAKE_REPOSITORY_NOT_ALLOWED"]]);
      expect(asked.every(({ path }) => path.startsWith("/private/"))).toBe(true);
    });

    it("a public repository is read without credentials, at the addresses that were checked", async () => {
      const rules = addressRules([{ network: "127.0.0.1", bits: 32, port: null }]);
      const options = { limits, allow: [], access: access(), rules };
      asked.splice(0);
      const read = await fetchRepository(await readAddress(`${url}/open/ada.git`), options);
      expect(contentOf(read)).toEqual(["a.js: too late"]);
      expect(asked.length).toBeGreaterThan(0);
      await expect(fetchRepository(await readAddress(`${url}/private/ada.git`), options)).rejects.toMatchObject({
        code: "INTAKE_NOT_FETCHED",
      });
      expect(asked.every(({ authorization }) => authorization === undefined)).toBe(true);
      asked.splice(0);
      for (const host of ["localhost", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"]) {
        const address = await readAddress(`https://${host}:${new URL(url).port}/open/ada.git`);
        await expect(fetchRepository(address, { limits, allow: [], access: access() })).rejects.toMatchObject({
          code: "INTAKE_REPOSITORY_NOT_ALLOWED",
        });
      }
      expect(asked).toEqual([]);
    });

    it("a repository of several students belongs to none of them until the teacher decides, however it is written", async () => {
      const host = url.replace("https://", "");
      const { submissions, unfetched, codes, withoutWork } = await readWorks(
        roster(
          `1;Ada;;${url}/private/ada.git`,
          `2;Bea;;HTTPS://LOCALHOST:${new URL(url).port}/private/%61da/`,
          `3;Cem;;ssh://git@${host}/private/Ada.git`,
          `4;Dan;;${url}/open/ada.git`,
        ),
        `repositories: { from: roster, allow: ["${url}/"] }`,
        { git: access() },
      );
      expect(submissions.map(({ key }) => key)).toEqual(["4#1"]);
      expect(unfetched).toMatchObject([
        { key: "1#1", message: "These students name the same repository: 2, 3." },
        { key: "2#1" },
        { key: "3#1" },
      ]);
      expect(codes).toEqual(["1", "2", "3"].map((key) => [key, "INTAKE_SAME_REPOSITORY"]));
      expect(withoutWork).toEqual([]);
    });

    it("a repository of a group is one submission of the group, and with an unknown student it is unmatched", async () => {
      const settings = `repositories: { from: roster, allow: ["${url}/"] }`;
      const group = [`1;Ada;Red;${url}/open/ada.git`, `2;Bea;Red;${url}/open/ada`];
      const { submissions, codes } = await readWorks(roster(...group), settings, { git: access() });
      expect(submissions).toMatchObject([{ key: "1+2#1", by: ["1", "2"], group: "Red", content: { is: "taken" } }]);
      expect(codes).toEqual([]);
      const stranger = await readWorks(roster(...group, `3;Cem;Blue;${url}/open/ada.git`), settings, { git: access() });
      expect(stranger.submissions).toEqual([]);
      expect(stranger.unfetched.map(({ by }) => by)).toEqual([["1"], ["2"], ["3"]]);
    });

    it("two repositories of one group are two submissions, not attempts of one", async () => {
      const { submissions } = await readWorks(
        roster(
          `1;Ada;T1;${url}/open/ada.git`,
          `2;Bea;T1;${url}/open/ada`,
          `3;Cem;T1;${url}/private/ada.git`,
          `4;Dan;T1;${url}/private/ada`,
        ),
        `repositories: { from: roster, allow: ["${url}/"] }`,
        { git: access() },
      );
      expect(submissions.map(({ key, by, counts }) => [key, by, counts])).toEqual([
        ["1+2#1", ["1", "2"], true],
        ["3+4#1", ["3", "4"], true],
      ]);
    });

    it("a group with the name of a student's key takes no submission from that student", async () => {
      const { submissions } = await readWorks(
        roster(`1;Ada;3;${url}/open/ada.git`, `2;Bea;3;${url}/open/ada`, "3;Cem;;ext::x"),
        `repositories: { from: roster, allow: ["${url}/"] }`,
        { git: access() },
      );
      expect(submissions.map(({ key, by }) => [key, by])).toEqual([
        ["1+2#1", ["1", "2"]],
        ["3#1", ["3"]],
      ]);
    });

    it("a student with the number or name of another student does not replace that student", async () => {
      const { submissions } = await readWorks(
        ["id;Name;Github;Repo URL", `1;Ada;;${url}/open/ada.git`, "2;Bea;1;ext::x"],
        `repositories: { from: roster, allow: ["${url}/"] }`,
        { git: access() },
      );
      expect(submissions.map(({ key, content }) => [key, content.is])).toEqual([
        ["1#1", "taken"],
        ["2#1", "refused"],
      ]);
    });

    it("only files directly in the folder that class.yaml names are read", async () => {
      const place = join(folder, `class-${classes + 1}`);
      const repositories = join(place, "repositories");
      execFileSync("mkdir", ["-p", repositories, join(place, "private"), join(repositories, "linked.git")]);
      git(folder, "2026-11-10", "clone", "-q", "--bare", work, join(repositories, "ada.git"));
      git(folder, "2026-11-10", "clone", "-q", "--bare", work, join(place, "private", "bea.git"));
      writeFileSync(join(repositories, "linked.git", ".git"), "gitdir: ../../private/bea.git");
      const { submissions, codes } = await readWorks(
        roster(
          `1;Ada;;file://${repositories}/ada.git`,
          `2;Bea;;file://${place}/private/bea.git`,
          `3;Cem;;file://${repositories}/linked.git`,
        ),
        `repositories: { from: roster, allow: ["file://${repositories}/"] }`,
        {},
      );
      expect(submissions.map(({ key, content }) => [key, content.is])).toEqual([["1#1", "taken"]]);
      expect(codes).toEqual(["2", "3"].map((key) => [key, "INTAKE_REPOSITORY_NOT_ALLOWED"]));
    });

    it("files outside the folder are not read by any of git's ways, and a roster field is one path segment", async () => {
      const place = join(folder, `class-${classes + 1}`);
      const repositories = join(place, "repositories");
      const secret = join(place, "private", "sol.git");
      execFileSync("mkdir", ["-p", repositories, join(place, "private"), join(repositories, "beside")]);
      git(folder, "2026-11-10", "clone", "-q", "--bare", work, secret);
      writeFileSync(join(repositories, "file"), `gitdir: ${secret}`);
      symlinkSync(secret, join(repositories, "beside.git"));
      for (const name of ["packs", "heads", "lender", "includer"])
        git(folder, "2026-11-10", "clone", "-q", "--bare", work, join(repositories, name));
      for (const [name, part] of [
        ["packs", "objects/pack"],
        ["heads", "refs/heads"],
      ] as const) {
        rmSync(join(repositories, name, part), { recursive: true });
        symlinkSync(join(secret, part), join(repositories, name, part));
      }
      writeFileSync(join(repositories, "lender/objects/info/alternates"), `${secret}/objects\n`);
      writeFileSync(join(repositories, "includer/config"), "[include]\n\tpath = ../../private/config\n");
      const names = ["file", "beside", "packs", "heads", "lender", "includer"];
      const { submissions, codes } = await readWorks(
        roster(...names.map((name, at) => `${at + 1};Zofia Nowak${at};;file://${repositories}/${name}`)),
        `repositories: { from: roster, allow: ["file://${repositories}/"] }`,
        {},
      );
      expect(submissions).toEqual([]);
      expect(codes).toEqual(names.map((_, at) => [String(at + 1), "INTAKE_REPOSITORY_NOT_ALLOWED"]));
      const made = await readWorks(
        ["id;Name;Github", "1;Ada;../private/sol.git", "2;Bea;..%2Fprivate%2Fsol.git"],
        `repositories: "file://${repositories}/{handle}"`,
        {},
      );
      expect(made.submissions.map(({ content }) => content.is)).toEqual(["refused", "refused"]);
    });
  });

  it("a host that does not answer delays no longer than the time limit", async () => {
    const silent = createServer(
      { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(caFile) },
      () => undefined,
    );
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = `https://localhost:${(silent.address() as AddressInfo).port}/x.git`;
    await expect(fetchWritten(address, { limits, access: { caFile }, timeoutMs: 1_500 })).rejects.toThrow("too long");
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });
});
