import { parseArgs } from "node:util";
import { aborted, catchInterrupts, readScript } from "@markmill/stack";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { fitWidth, oneLine } from "../fit-width.ts";

export const mockModel: Command = {
  help: `Usage: markmill mock-model SCRIPT [--port 8089] [--log]

Serve a scripted model over the OpenAI API on loopback until Ctrl-C. The script
defines replies, delays and faults; packages/llm/README.md describes scripts.

  --port N   listen on this port; 0 chooses a free port
  --log      print one line per request on stderr

Example:
  markmill mock-model replies.yaml &
  export OPENAI_BASE_URL=http://127.0.0.1:8089/v1
  markmill run grade.wf.md --model scripted`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { port: { type: "string" }, log: { type: "boolean" } },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError("Name one script.");
    const port = Number(values.port ?? "8089");
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new UsageError("--port must be a number from 0 to 65535.");
    const { script } = await readScript(file, terminal.cwd);
    const { startScriptedModel } = await import("@markmill/llm");
    const interrupts = catchInterrupts();
    const model = await startScriptedModel({ script, port });
    terminal.out(model.url);
    terminal.err("Ctrl-C stops it. GET /log lists the requests.");
    let told = 0;
    const tell = () => {
      for (const request of model.requests()) {
        if (request.number <= told) continue;
        told = request.number;
        const last = request.messages.at(-1)?.content ?? "";
        const line = `${request.number}  ${request.outcome}  ${request.rule ?? "-"}  ${request.model}  ${oneLine(last.slice(0, 200))}`;
        terminal.err(fitWidth(line, Math.max(terminal.columns - 1, 40)));
      }
    };
    const telling = values.log === true ? setInterval(tell, 100) : null;
    await aborted(interrupts.signal);
    if (telling !== null) clearInterval(telling);
    await model.close();
    interrupts.release();
    return exitCodes.success;
  },
};
