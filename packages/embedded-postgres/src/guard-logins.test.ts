import { describe, expect, it } from "vitest";
import { namesOfRoot } from "./guard-logins.ts";

describe("the names of root", () => {
  it("are all entries with uid 0 that need no quoting", () => {
    const passwd = 'root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\nbad"name:x:0:0::/:\nuser:x:1000:0::/:/bin/sh\n';
    expect(namesOfRoot(passwd)).toEqual(["root", "toor"]);
    expect(namesOfRoot("")).toEqual([]);
  });
});
