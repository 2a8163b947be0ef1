/**
 * Decides which network addresses tools may reach. A model, or a page it read, may have chosen the address. So an address that is not
 * public is refused, unless the operator allows it by name.
 *
 * N1  IPv4: all ranges that IANA reserves for a special purpose are refused: private, loopback, link-local (the metadata of clouds),
 *     shared, multicast, documentation. IPv6: only global unicast is public, without the ranges that contain an IPv4 address.
 * N2  An IPv4 address written as IPv6 is judged as the IPv4 address.
 */
import { BlockList, isIP, isIPv6 } from "node:net";

const special4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4"],
  // A public number, but every machine in Azure reaches its own platform there.
  "168.63.129.16/32",
];
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const notPublic4 = listOf(special4, "ipv4");
const global6 = listOf(["2000::/3"], "ipv6");
const special = listOf(special6, "ipv6");

/** An address or a network, with or without a port. */
export interface AllowedAddress {
  readonly network: string;
  readonly bits: number;
  readonly port: number | null;
}

export interface AddressRules {
  /** `address`: in the form of the resolver or the URL, without brackets. */
  mayReach(address: string, port: number): boolean;
}

export function addressRules(allowed: readonly AllowedAddress[]): AddressRules {
  const lists = allowed.map(({ network, bits, port }) => {
    const list = new BlockList();
    list.addSubnet(network, bits, isIPv6(network) ? "ipv6" : "ipv4");
    return { list, port };
  });
  return {
    mayReach(given, port) {
      const address = plain(given);
      const family = isIP(address);
      if (family === 0) return false;
      const kind = family === 6 ? "ipv6" : "ipv4";
      if (lists.some((one) => (one.port === null || one.port === port) && one.list.check(address, kind))) return true;
      return isPublic(address);
    },
  };
}

function isPublic(address: string): boolean {
  if (!isIPv6(address)) return !notPublic4.check(address, "ipv4");
  return global6.check(address, "ipv6") && !special.check(address, "ipv6");
}

/** Converts an IPv4 address written as IPv6 (N2). */
function plain(address: string): string {
  const text = address.replace(/%.*/s, "");
  if (!isIPv6(text)) return text;
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return canonical;
  const [high, low] = [Number.parseInt(mapped[1] ?? "0", 16), Number.parseInt(mapped[2] ?? "0", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function listOf(networks: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
