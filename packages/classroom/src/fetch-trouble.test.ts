import { expect, it } from "vitest";
import { saysContent } from "./fetch-trouble.ts";

it.each([
  "fatal: unable to access 'https://x/': Could not resolve host: x",
  "fatal: unable to access 'https://x/': Failed to connect to x port 443",
  "fatal: unable to access 'https://x/': The requested URL returned error: 503",
  "fatal: Authentication failed for 'https://x/'",
  "remote: Repository not found.\nfatal: repository 'https://x/' not found",
  "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
  "fatal: early EOF\nfatal: the remote end hung up unexpectedly",
  "error: RPC failed; curl 18 transfer closed\nfatal: early EOF\nfatal: index-pack failed",
  "fatal: write error: No space left on device\nfatal: index-pack failed",
  "fatal: mismatched algorithms: client sha1; server sha256",
  "error: Server does not allow request for unadvertised object\nfatal: bad object 1",
  "",
])("the git message %s gives no information about the submission", (words) => {
  expect(saysContent(words)).toBe(false);
});

it.each([
  "fatal: couldn't find remote ref HEAD",
  "error: object 1: hasDotgit\nfatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output",
])("the git message %s describes the submission", (words) => {
  expect(saysContent(words)).toBe(true);
});
