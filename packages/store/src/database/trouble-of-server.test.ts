import { expect, it } from "vitest";
import { translate } from "./store-error.ts";
import { isTroubleOfServer } from "./trouble-of-server.ts";

it.each(["58P01", "XX000", "42501", "42P01", "53100", "25006", "57P01"])(
  "the SQLSTATE %s is trouble of the server, which ends no run",
  (code) => {
    expect(isTroubleOfServer(translate(Object.assign(new Error("refused"), { code }), "Saving"))).toBe(true);
  },
);

it.each(["22001", "23505", "42601"])("the SQLSTATE %s is a fault of the statement", (code) => {
  expect(isTroubleOfServer(translate(Object.assign(new Error("refused"), { code }), "Saving"))).toBe(false);
});
