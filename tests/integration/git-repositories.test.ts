// Works in git repositories over real ssh and https: the commit before the deadline, a token that is seen by its host alone, no redirects.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultLimits } from "@markmill/submission";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchRepository } from "../../packages/classroom/src/fetch-repository.ts";
import { readClassHead, readClassWorks } from "../../packages/classroom/src/read-class-folder.ts";
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

describe.skipIf(ssh instanceof Error)("over ssh", () => {
  const server = ssh as SshServer;
  const access = { sshKey: server.key, knownHosts: server.knownHosts };
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${served}`;
  afterAll(() => server.stop());

  it("the last commit before the deadline is read with the key that is named", async () => {
    const read = await fetchRepository(url, { limits, deadline, access });
    expect(contentOf(read)).toEqual(["a.js: first"]);
    expect(contentOf(await fetchRepository(url, { limits, access }))).toEqual(["a.js: too late"]);
  });

  it("a host that nobody knows, and a key that nobody knows, are refused without a question", async () => {
    const stranger = join(folder, "stranger");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", stranger]);
    await expect(fetchRepository(url, { limits, access: { ...access, knownHosts: "/dev/null" } })).rejects.toThrow(
      /Host key verification failed|No ED25519 host key/,
    );
    await expect(fetchRepository(url, { limits, access: { ...access, sshKey: stranger } })).rejects.toThrow(
      /Permission denied/,
    );
  });

  it("a roster says whose repository is where; one that cannot be had stops that work alone, and is not called the student's cause", async () => {
    const roster = [
      "id;Name;Repo URL",
      `1;Ada;${url}`,
      "2;Bea;ext::sh -c id",
      "3;Cem;",
      `4;Dan;file://${work}`,
      `5;Eve;ssh://${server.user}@127.0.0.1:${server.port}${served}-none`,
    ].join("\r\n");
    const place = join(folder, "class");
    execFileSync("mkdir", ["-p", place]);
    writeFileSync(join(place, "roster.csv"), roster);
    writeFileSync(
      join(place, "class.yaml"),
      "roster: roster.csv\nrepositories: roster\ndeadline: 2026-11-05T00:00:00Z\n",
    );
    const head = await readClassHead(place);
    if (!head.ok) throw new Error(JSON.stringify(head.findings));
    expect(head.head.roster?.mapping).toContainEqual({ header: "Repo URL", as: "repository" });
    const read = await readClassWorks(head.head, { git: access });
    if (!read.ok) throw new Error(JSON.stringify(read.findings));
    const { submissions, unfetched, withoutWork } = read.class.intake;
    expect(submissions.map(({ by, content }) => [by[0], content.is])).toEqual([
      ["1", "taken"],
      ["2", "refused"],
      ["4", "refused"],
    ]);
    expect(unfetched).toMatchObject([{ key: "5#1", by: ["5"] }]);
    expect(read.findings).toContainEqual(expect.objectContaining({ code: "INTAKE_NOT_FETCHED", about: "5" }));
    expect(JSON.stringify(submissions[0])).toMatch(/commit [0-9a-f]{40} of 2026-11-01/);
    expect(withoutWork).toEqual(["3"]);
    expect(JSON.stringify(submissions[2])).toContain("outside the folder of the class");
  });
});

describe("over https", () => {
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

  it("it is read where the certificate is known, and only there", async () => {
    const read = await fetchRepository(`${url}/open/ada.git`, { limits, deadline, access: { caFile } });
    expect(contentOf(read)).toEqual(["a.js: first"]);
    await expect(fetchRepository(`${url}/open/ada.git`, { limits })).rejects.toThrow(/certificate/i);
  });

  it("a redirect is refused, and says what to do", async () => {
    const moved = fetchRepository(`${url}/moved/ada.git`, { limits, access: { caFile } });
    await expect(moved).rejects.toMatchObject({ fix: expect.stringContaining(".git at the end") });
  });

  it("a token is sent to its host, and to no other", async () => {
    const token = { host: url.replace("https://", ""), value: "very-secret" };
    asked.splice(0);
    const read = await fetchRepository(`${url}/private/ada.git`, { limits, access: { caFile, token } });
    expect(contentOf(read)).toEqual(["a.js: too late"]);
    const basic = `Basic ${Buffer.from("x-access-token:very-secret").toString("base64")}`;
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([basic]));
    asked.splice(0);
    const other = { ...token, host: "github.com" };
    const refused = await fetchRepository(`${url}/private/ada.git`, { limits, access: { caFile, token: other } }).catch(
      String,
    );
    expect(refused).not.toContain("very-secret");
    expect(asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it("a host that says nothing costs no more than the time there is", async () => {
    const silent = createServer(
      { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(caFile) },
      () => undefined,
    );
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = `https://localhost:${(silent.address() as AddressInfo).port}/x.git`;
    await expect(fetchRepository(address, { limits, access: { caFile }, timeoutMs: 1_500 })).rejects.toThrow(
      "too long",
    );
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });
});
