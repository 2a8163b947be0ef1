import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { extract } from "tar-stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { packEtc } from "./etc-files.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "markmill-etc-"));
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), mode);
  };
  put("maven/m2.conf", "main is org.apache.maven.cli.MavenCli\n");
  put("maven/settings.xml", "<settings><!-- <password>sample</password> --></settings>");
  put("maven/site.xml", "<server><password>hunter2</password></server>");
  put("java-17-openjdk/security/java.security", "keystore.type=pkcs12\n");
  put("java-17-openjdk/management/jmxremote.password", "monitor secret");
  put("ssl/certs/ca.crt", "-----BEGIN CERTIFICATE-----\n");
  put("ssl/certs/mixed.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n");
  put("ssl/certs/server.key", "whatever");
  put("ssl/private/server.pem", "whatever");
  put("ssl/openssl.cnf", "[default]\n");
  put("python3/debian_config", "x", 0o640);
  put("perl/closed/file", "x");
  chmodSync(join(root, "perl/closed"), 0o700);
  put("shadow", "root:*:1::::::", 0o644);
  put("ssh/ssh_host_ed25519_key", "x");
  put("sudoers", "x");
  put("npmrc", "//registry/:_authToken=abc");
  mkdirSync(join(root, "alternatives"));
  symlinkSync("/usr/bin/gawk", join(root, "alternatives/awk"));
  symlinkSync("../shadow", join(root, "alternatives/shadow-link"));
  symlinkSync("/usr/share/zoneinfo/UTC", join(root, "localtime"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it("the jail's /etc contains the files that programs need to start, links as links, and no secrets", async () => {
  const seen = new Map<string, string>();
  const reader = Readable.from(await packEtc(root)).pipe(extract());
  for await (const entry of reader) {
    let text = "";
    for await (const chunk of entry) text += chunk;
    if (entry.header.type !== "directory") seen.set(entry.header.name, entry.header.linkname ?? text);
  }
  expect([...seen.keys()].toSorted()).toEqual([
    "alternatives/awk",
    "java-17-openjdk/security/java.security",
    "localtime",
    "maven/m2.conf",
    "maven/settings.xml",
    "ssl/certs/ca.crt",
    "ssl/openssl.cnf",
  ]);
  expect(seen.get("alternatives/awk")).toBe("/usr/bin/gawk");
});
