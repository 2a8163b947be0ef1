import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAddress, repositoryIdentity } from "./repository-address.ts";

describe("the address of a repository", () => {
  it.each([
    ["https://github.com/ada/sheet3.git", "https://github.com/ada/sheet3.git"],
    [" HTTPS://Git.School.example:8443/a/b ", "https://git.school.example:8443/a/b"],
    ["git@github.com:ada/sheet3.git", "ssh://git@github.com/ada/sheet3.git"],
    ["ssh://git@host.example:2222/~/x.git", "ssh://git@host.example:2222/~/x.git"],
    ["https://[2001:DB8:0::1]/x", "https://[2001:db8::1]/x"],
    ["git@h:/srv/x.git", "ssh://git@h/srv/x.git"],
    ["https://h:443/a/%78%20y/", "https://h/a/x%20y"],
    ["https://0x7f.1/x", "https://127.0.0.1/x"],
  ])("%s is accepted", async (written, given) => {
    expect((await readAddress(written)).url).toBe(given);
  });

  it.each([
    ...[
      "",
      "   ",
      "--upload-pack=touch /tmp/x",
      "-uid",
      "ext::sh -c id",
      "ext::ssh://x/y",
      "fd::17",
      "http://h/x",
      "git://h/x",
    ],
    ...[
      "ftp://h/x",
      "https://",
      "https:///x",
      "https://-oProxyCommand=id/x",
      "ssh://-oProxyCommand=id/x",
      "-oProxyCommand=id@h:x",
    ],
    ...[
      "ssh://git@-oProxyCommand=id/x",
      "ssh://-l@h/x",
      "ssh://a:b@h/x",
      "https://tok@h/x",
      "https://u:secret@h/x",
      "https://h",
    ],
    ...[
      "https://h/x y",
      "https://h/\u202ex",
      "https://h/x\ny",
      "https://h\\@evil/x",
      "https://h/../x",
      "https://h/%2e%2e/x",
    ],
    ...[
      "https://h/-x",
      "https://h/x?y",
      "https://h/x#y",
      "https://h:0/x",
      "https://h:99999/x",
      "https://h_x/y",
      "/etc",
      "file:///etc",
    ],
    ...[
      "file://host/etc",
      "./x",
      "C:\\x",
      "git@h:--upload-pack=id",
      "https://h/a//b",
      "https://h/./b",
      "https://h/a%2fb",
      "https://h/%252e%252e/b",
      "https://h/a;x/b",
      "https://h/a%5cb",
      "https://h/\ud800",
      "https://h./x",
      "javascript:alert(1)",
      `https://h/${"x".repeat(3000)}`,
    ],
  ])("%j is refused", async (written) => {
    await expect(readAddress(written)).rejects.toMatchObject({ code: "SUBMISSION_REFUSED" });
  });

  it("is refused without repeating the password", async () => {
    for (const written of [
      ...["https://u:secret@h/x", "ssh://a:secret@h/x", "u:secret@h:x", "https://secret@h/x", "https://u:a@secret@h/x"],
      ...["https://u:a/secret@h/x", "ftp://secret@h/x"],
    ]) {
      const error = await readAddress(written).catch((caught: Error) => caught);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).not.toContain("secret");
    }
  });

  it("has one identity in all its spellings", async () => {
    const written = [
      ...[
        "https://github.com/ada/sheet3",
        "https://GitHub.com/Ada/Sheet3.git",
        "https://github.com:443/ada/sheet3.git/",
      ],
      ...["git@github.com:ada/sheet3.git", "ssh://git@github.com:22/ada/sheet3", "ssh://ada@github.com/ada/sheet3/"],
      ...["https://github.com/%61da/sheet3.git", "ssh://git@ssh.github.com:443/ada/sheet3.git"],
    ];
    const identities = await Promise.all(written.map(async (one) => repositoryIdentity(await readAddress(one))));
    expect(new Set(identities).size).toBe(1);
    const others = ["https://github.com/ada/sheet4", "https://gitlab.com/ada/sheet3", "https://github.com/bea/sheet3"];
    for (const other of others) expect(identities).not.toContain(repositoryIdentity(await readAddress(other)));
  });

  describe("of a file", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "markmill-address-"));
      await mkdir(join(folder, "class/repos/ada.git"), { recursive: true });
      await mkdir(join(folder, "class-other"));
      await symlink(join(folder, "class-other"), join(folder, "class/out"));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it("is accepted only below the folder of the class, also if a link leads out of it", async () => {
      const places = { folder: join(folder, "class") };
      const { url } = await readAddress(`file://${folder}/class/repos/ada.git`, places);
      expect(url).toMatch(/class\/repos\/ada\.git$/);
      for (const path of [
        "class",
        "class/out",
        "class-other",
        "class/../class-other",
        "class/%2e%2e/class-other",
        "class/none",
      ]) {
        await expect(readAddress(`file://${folder}/${path}`, places)).rejects.toThrow("outside the folder");
      }
    });
  });
});
