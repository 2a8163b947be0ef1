import { describe, expect, it } from "vitest";
import { type ServerFacts, unfitServer } from "./unfit-server.ts";

const fit: ServerFacts = {
  version: 160_004,
  standby: false,
  readOnly: false,
  encoding: "UTF8",
  processes: [
    [11, 11, 11],
    [12, 12, 12],
  ],
};

describe("refusing an unfit database server", () => {
  it("a primary server of version 14 or newer is accepted", () => {
    expect(unfitServer(fit)).toBeNull();
    expect(unfitServer({ ...fit, version: 140_000 })).toBeNull();
  });

  it.each<[string, Partial<ServerFacts>, string, RegExp]>([
    ["version 13", { version: 130_014 }, "STORE_VERSION", /version 13\.14/],
    ["version 9.6", { version: 90_624 }, "STORE_VERSION", /version 9\.6/],
    ["a standby", { standby: true, readOnly: true }, "STORE_READ_ONLY", /standby/],
    ["a read-only setting", { readOnly: true }, "STORE_READ_ONLY_SETTING", /default_transaction_read_only/],
    ["a database without an encoding", { encoding: "SQL_ASCII" }, "STORE_ENCODING", /SQL_ASCII/],
    ["a database in another encoding", { encoding: "LATIN1" }, "STORE_ENCODING", /LATIN1/],
    [
      "two connections with one session",
      {
        processes: [
          [11, 11, 11],
          [11, 11, 11],
        ],
      },
      "STORE_POOLER",
      /transaction/,
    ],
    [
      "one connection with two sessions",
      {
        processes: [
          [11, 12, 11],
          [13, 13, 13],
        ],
      },
      "STORE_POOLER",
      /transaction/,
    ],
  ])("this server is refused: %s", (_, facts, code, message) => {
    expect(unfitServer({ ...fit, ...facts })).toMatchObject({ code, message: expect.stringMatching(message) });
  });
});
