import { parseArgs } from "node:util";
import { isSandboxChoice, requireConfig } from "@markmill/stack";
import { formatElapsed } from "../amounts.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { withSandboxToTest } from "../sandbox-to-test.ts";

export const sandbox: Command = {
  help: `Usage: markmill sandbox self-test [--sandbox auto|docker|jail] [--json]

Try to break out of the sandbox: host files, network, other sessions, system
calls, resource bombs. The sandbox must refuse every probe.

If a protection is weak on this machine (no cgroup, an old engine), the command
names it. Commands do not run until you accept it by name (SANDBOX_ACCEPT).

Exit codes:
  0  safe
  1  a probe was not refused, or a weak protection is not accepted

Examples:
  markmill sandbox self-test
  markmill sandbox self-test --sandbox jail --json`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { sandbox: { type: "string" }, json: { type: "boolean" } },
    });
    if (positionals.length !== 1 || positionals[0] !== "self-test")
      throw new UsageError("Run 'markmill sandbox self-test'.");
    const config = requireConfig(terminal);
    const kind: string = values.sandbox ?? config.sandbox.kind;
    if (!isSandboxChoice(kind)) throw new UsageError(`--sandbox must be auto, docker or jail, not '${kind}'.`);
    // Without a sandbox, the probes would attack the machine itself.
    if (kind === "none") throw new UsageError("'none' is not a sandbox: the probes would harm this machine.");
    const { judgeSelfTest, runSelfTest } = await import("@markmill/sandbox");
    const place = { cwd: terminal.cwd, warn: (text: string) => terminal.err(text) };
    return await withSandboxToTest(kind, config, place, async (opened) => {
      if (values.json !== true) terminal.err(`testing ${opened.kind}; this takes some time`);
      const report = await runSelfTest(opened, opened.kind === "docker" ? { image: config.sandbox.image } : {});
      const verdict = judgeSelfTest(report);
      const walls = ((await opened.thinWalls?.()) ?? []).map((wall) => ({
        ...wall,
        accepted: config.sandbox.accept.includes(wall.name),
      }));
      const refused = walls.some(({ accepted }) => !accepted);
      if (values.json === true) {
        terminal.out(jsonText({ sandbox: opened.kind, ...verdict, thinWalls: walls, ...report }));
      } else {
        for (const { name, held, evidence } of report.controls)
          terminal.out(line(held ? "held" : "FAILED", name, held ? "" : evidence));
        for (const { name, refused, evidence } of report.probes)
          terminal.out(line(refused ? "refused" : "NOT REFUSED", name, evidence));
        for (const { name, message, fix, accepted } of walls) {
          terminal.out(`WEAK         ${name}${accepted ? " (accepted)" : ""}: ${message}`);
          if (!accepted) terminal.out(`             Commands are refused. ${fix}`);
        }
        const seconds = formatElapsed(report.durationMs);
        terminal.out(
          `${verdict.safe ? "safe" : "NOT SAFE"}: ${opened.kind}, ${report.probes.length} probes in ${seconds}`,
        );
      }
      return verdict.safe && !refused ? exitCodes.success : exitCodes.failed;
    });
  },
};

function line(mark: string, name: string, evidence: string): string {
  return fitWidth(`${mark.padEnd(11)}  ${name}${evidence === "" ? "" : `: ${oneLine(evidence)}`}`, 160);
}
