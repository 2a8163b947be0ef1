import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryAddress } from "./repository-address.ts";

describe("an address of a repository", () => {
  it.each([
    ["https://github.com/ada/sheet3.git", "https://github.com/ada/sheet3.git"],
    [" HTTPS://Git.School.example:8443/a/b ", "https://Git.School.example:8443/a/b"],
    ["git@github.com:ada/sheet3.git", "ssh://git@github.com/ada/sheet3.git"],
    ["ssh://git@host.example:2222/~/x.git", "ssh://git@host.example:2222/~/x.git"],
    ["https://[2001:db8::1]/x", "https://[2001:db8::1]/x"],
  ])("%s is taken", async (written, given) => {
    expect(await repositoryAddress(written)).toBe(given);
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
      "javascript:alert(1)",
      `https://h/${"x".repeat(3000)}`,
    ],
  ])("%j is refused", async (written) => {
    await expect(repositoryAddress(written)).rejects.toMatchObject({ code: "SUBMISSION_REFUSED" });
  });

  it("that is refused repeats no password", async () => {
    for (const written of ["https://u:secret@h/x", "ssh://a:secret@h/x", "u:secret@h:x"]) {
      const error = await repositoryAddress(written).catch((caught: Error) => caught);
      expect(String(error)).not.toContain("secret");
    }
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

    it("is taken below the folder of the class, and nowhere else, by a link neither", async () => {
      const places = { folder: join(folder, "class") };
      expect(await repositoryAddress(`file://${folder}/class/repos/ada.git`, places)).toMatch(
        /class\/repos\/ada\.git$/,
      );
      for (const path of [
        "class",
        "class/out",
        "class-other",
        "class/../class-other",
        "class/%2e%2e/class-other",
        "class/none",
      ]) {
        await expect(repositoryAddress(`file://${folder}/${path}`, places)).rejects.toThrow("outside the folder");
      }
    });
  });
});
