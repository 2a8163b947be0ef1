import { describe, expect, it } from "vitest";
import { addressRules } from "./address-rules.ts";

describe("an address for tools", () => {
  const none = addressRules([]);

  it.each([
    ...["127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"],
    ...[
      "169.254.169.254",
      "192.0.0.192",
      "168.63.129.16",
      "198.18.0.1",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "203.0.113.9",
    ],
    ...["::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::"],
    ...[
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::ffff:169.254.169.254",
      "::ffff:168.63.129.16",
      "::127.0.0.1",
      "2001::1",
      "2001:db8::1",
    ],
    ...["localhost", "", "1.2.3", "0x7f.1"],
  ])("is refused: %s", (address) => expect(none.mayReach(address, 80)).toBe(false));

  it.each(["1.1.1.1", "172.32.0.1", "168.63.129.17", "100.128.0.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])(
    "is allowed: %s",
    (address) => expect(none.mayReach(address, 443)).toBe(true),
  );

  it("is allowed if the operator lists it, at the listed port", () => {
    const rules = addressRules([
      { network: "127.0.0.1", bits: 32, port: 8080 },
      { network: "10.1.0.0", bits: 16, port: null },
      { network: "::1", bits: 128, port: null },
    ]);
    expect([8080, 8081].map((port) => rules.mayReach("127.0.0.1", port))).toEqual([true, false]);
    expect(rules.mayReach("::ffff:127.0.0.1", 8080)).toBe(true);
    expect(["10.1.255.1", "10.2.0.1", "::1", "fd00::1"].map((one) => rules.mayReach(one, 5))).toEqual([
      ...[true, false, true, false],
    ]);
  });
});
