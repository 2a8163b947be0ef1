import { expect, it } from "vitest";
import { networkOf } from "./network-of.ts";

it("networkOf treats each IPv4 address and each IPv6 /64 block as one network, in any spelling", () => {
  expect(networkOf("10.0.0.1")).toBe("10.0.0.1");
  expect(networkOf("::ffff:10.0.0.1")).toBe("10.0.0.1");
  for (const same of [
    "2001:db8:1:2::1",
    "2001:0DB8:0001:0002:ffff:ffff:ffff:ffff",
    "2001:db8:1:2:3::",
    "2001:db8:1:2::%eth0",
  ]) {
    expect(networkOf(same), same).toBe("2001:db8:1:2::/64");
  }
  expect(networkOf("2001:db8:1:3::1")).toBe("2001:db8:1:3::/64");
  expect(networkOf("::1")).toBe("0:0:0:0::/64");
  expect(networkOf("fe80::1:2")).toBe("fe80:0:0:0::/64");
});
