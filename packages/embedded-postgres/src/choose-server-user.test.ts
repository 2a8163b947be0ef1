import { describe, expect, it } from "vitest";
import { lendUser } from "./choose-server-user.ts";

const root = "root:x:0:0:root:/root:/bin/bash";
const nobody = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin";
const postgres = "postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash";

describe("the user that root lends to a Postgres server", () => {
  it("is postgres, else nobody", () => {
    expect(lendUser([root, nobody, postgres].join("\n"), null)).toEqual({
      kind: "lent",
      name: "postgres",
      uid: 101,
      gid: 104,
    });
    expect(lendUser([root, nobody].join("\n"), null)).toMatchObject({ name: "nobody", uid: 65_534 });
  });

  it("is the owner of an existing database, with or without a name", () => {
    const owner = { uid: 1000, gid: 1000 };
    expect(lendUser([root, postgres].join("\n"), owner)).toEqual({ kind: "lent", name: "1000", ...owner });
  });

  it("is never root, for any content of the user table", () => {
    expect(() => lendUser(`${root}\npostgres:x:0:0::/:/bin/sh\nnobody:x:broken`, null)).toThrow(
      expect.objectContaining({ code: "PG_NO_USER" }),
    );
    expect(() => lendUser("", { uid: 0, gid: 0 })).toThrow(expect.objectContaining({ code: "PG_NO_USER" }));
  });
});
