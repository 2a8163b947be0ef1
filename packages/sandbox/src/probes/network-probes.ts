// Probes for everything a session could reach over a network. The addresses are a documentation range, the metadata address of clouds, and
// a server that the self-test itself runs on the host's loopback, where a database might listen.

import { type Probe, probeOutput } from "./probe.ts";

/** bash opens the connection itself. Without a route it fails at once, so a timeout does not count as a refusal. */
const connect = (host: string, port: number) =>
  `if { exec 7<>/dev/tcp/${host}/${port}; } 2>said; then echo connected; IFS= read -r -t 2 line <&7; echo "$line"; else cat said; fi; rm -f said`;

export const networkProbes: readonly Probe[] = [
  {
    name: "reach the network",
    run: ({ session }) => probeOutput(session, connect("192.0.2.1", 80), (output) => /unreachable/i.test(output)),
  },
  {
    name: "reach the metadata address",
    run: ({ session }) => probeOutput(session, connect("169.254.169.254", 80), (output) => /unreachable/i.test(output)),
  },
  {
    name: "reach a database on the host",
    run: ({ session, hostPort, canary }) =>
      probeOutput(
        session,
        connect("127.0.0.1", hostPort),
        (output) => /refused|unreachable/i.test(output) && !output.includes(canary.token),
      ),
  },
  {
    name: "see a network interface",
    run: ({ session }) =>
      probeOutput(session, "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '", (output) =>
        // The kernel creates tunnels in every namespace. They are down and lead nowhere.
        output
          .trim()
          .split("\n")
          .every((name) => /^(lo|tunl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|sit0|ip6tnl0|ip6gre0)$/.test(name)),
      ),
  },
  {
    name: "resolve a name",
    run: ({ session }) =>
      probeOutput(session, connect("name.invalid", 80), (output) =>
        /resolution|not known|invalid|lookup/i.test(output),
      ),
  },
];
