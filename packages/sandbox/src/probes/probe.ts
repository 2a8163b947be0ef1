// A probe tries one thing that foreign code must not be able to do. It uses only the port, so the same probes test every sandbox. A probe
// passes only on evidence of a refusal; silence, a crash or a missing tool is no evidence.

import type { CommandOutcome, CommandSpec, Session } from "../port.ts";

export interface Probe {
  readonly name: string;
  run(lab: Lab): Promise<Finding>;
}

export interface Finding {
  readonly refused: boolean;
  /** The observation, one short line. */
  readonly evidence: string;
}

export interface ProbeResult extends Finding {
  readonly name: string;
}

/** The setup of the self-test around the probes. */
export interface Lab {
  /** The session that attacks. */
  readonly session: Session;
  /** A second session on the same host, with a token in its files, its memory and its process list. */
  readonly neighbour: Session;
  /** Opens one more session. The probe must end it. */
  open(name: string): Promise<Session>;
  list(): Promise<readonly { readonly id: string }[]>;
  /** A file of the host that every user of the host can read, and its content. */
  readonly canary: { readonly path: string; readonly token: string };
  /** The port of a server on the host's loopback that sends the canary's token. */
  readonly hostPort: number;
  /** A token that only the neighbour has. */
  readonly neighbourToken: string;
  /** The names of the variables that the sessions were given on purpose. */
  readonly environmentNames: readonly string[];
  readonly limits: {
    readonly memoryBytes: number;
    readonly diskBytes: number;
    readonly pids: number;
    readonly outputBytes: number;
  };
}

export async function shell(
  session: Session,
  text: string,
  limits: NonNullable<CommandSpec["limits"]> = {},
): Promise<CommandOutcome> {
  return await session.run({ kind: "shell", text, limits });
}

/** Refused when the command ran to its end, so that it really tried, and the output satisfies the test. */
export async function probeOutput(
  session: Session,
  text: string,
  isRefusal: (output: string) => boolean,
): Promise<Finding> {
  const outcome = await shell(session, `${text}\necho probe-ended`);
  const output = outcome.output.replace(/probe-ended\n$/, "");
  const ended = outcome.output.endsWith("probe-ended\n");
  return {
    refused: ended && isRefusal(output),
    evidence: ended ? shorten(output) : `the probe did not end: ${shorten(output)}`,
  };
}

export function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line === "" ? "no output" : line.length > 160 ? `${line.slice(0, 157)}...` : line;
}
