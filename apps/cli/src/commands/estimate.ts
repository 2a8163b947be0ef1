import { parseArgs } from "node:util";
import { readClassWorks } from "@markmill/classroom";
import { type CallPlan, estimateCost } from "@markmill/grading";
import { everyWork, modelPrice, requireConfig } from "@markmill/stack";
import type { BatchWork } from "@markmill/store";
import { formatCount, formatDollars, formatElapsed } from "../amounts.ts";
import { callsPlanned, modelOf } from "../class-estimate.ts";
import { gitAccess, planClass, tell } from "../class-plan.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { jsonText } from "../json-text.ts";
import { withStack } from "../with-stack.ts";

export const estimate: Command = {
  help: `Usage: markmill estimate PATH [--model NAME] [--json]

Estimate the tokens, the cost and the time of a class before you grade it. After
a pilot ('markmill grade PATH --sample 8'), the estimate uses the results of the
pilot. If the price of a model is unknown, the estimate says so.

Examples:
  markmill estimate examples/class-roman --model gpt-5-mini
  markmill grade sheet3/ --sample 8 && markmill estimate sheet3/`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        model: { type: "string" },
        workflow: { type: "string" },
        rubric: { type: "string" },
        roster: { type: "string" },
        json: { type: "boolean" },
      },
    });
    const [path, ...more] = positionals;
    if (path === undefined || more.length > 0) throw new UsageError("Name one class: its folder or an export.");
    const plan = await planClass(path, values, requireConfig(terminal), terminal);
    if (plan === null) return exitCodes.invalid;
    const read = await readClassWorks(plan.head, { without: ["results"], git: gitAccess(plan.config, terminal.cwd) });
    if (!read.ok) {
      tell(read.findings, terminal);
      return exitCodes.invalid;
    }
    const works = read.class.intake.submissions.flatMap(({ counts, content }) =>
      counts && content.is === "taken" ? [{ characters: content.bytes }] : [],
    );
    const pilot = await withStack<readonly BatchWork[]>(
      terminal,
      async ({ tenant }) => {
        const [known] = (await tenant.batches.list({ key: plan.key })).batches;
        return known === undefined
          ? []
          : (await everyWork(tenant.batches, known.id)).filter(({ standing }) => standing.is === "succeeded");
      },
      { empty: () => [] },
    );
    const { config } = plan;
    const named = plan.variables.AI_MODEL_NAME ?? modelOf(plan.definition);
    const { name, price } = await modelPrice(named, config, terminal.cwd);
    const cost = estimateCost(works, callsPlanned(plan.definition, plan.rubric), price, pilot.map(tookOf));
    const times = pilot.flatMap(({ try: last }) =>
      last?.startedAt == null || last.endedAt === null ? [] : [last.endedAt.getTime() - last.startedAt.getTime()],
    );
    const slots = plan.head.class.concurrency ?? 16;
    const median = [...times].sort((one, other) => one - other)[times.length >> 1] ?? null;
    const ms =
      median === null ? null : Math.round((median * works.length) / Math.min(slots, Math.max(1, works.length)));
    if (values.json === true) {
      terminal.out(
        jsonText({
          works: works.length,
          model: name,
          priced: price !== null,
          ...cost,
          pilotWorks: pilot.length,
          durationMs: ms,
        }),
      );
      return exitCodes.success;
    }
    terminal.out(`submissions: ${works.length}`);
    terminal.out(`model: ${name ?? "none chosen (set --model NAME or DEFAULT_MODEL)"}`);
    terminal.out(`calls: about ${formatCount(cost.calls)}`);
    terminal.out(
      `tokens: about ${formatCount(cost.promptTokens)} to the model, ${formatCount(cost.completionTokens)} from it`,
    );
    terminal.out(
      cost.lowNanodollars === null || cost.highNanodollars === null
        ? "price: unknown (add the price to models.yaml)"
        : `price: ${formatDollars(cost.lowNanodollars)} to ${formatDollars(cost.highNanodollars)}`,
    );
    terminal.out(
      ms === null
        ? "time: unknown until a pilot has run"
        : `time: about ${formatElapsed(ms)} with ${slots} at the same time`,
    );
    terminal.err(
      pilot.length === 0
        ? "based on the length of the submissions; 'markmill grade PATH --sample 8' makes the estimate better"
        : `based on ${pilot.length} graded submissions`,
    );
    return exitCodes.success;
  },
};

function tookOf({ spent, tries }: BatchWork): CallPlan {
  const each = Math.max(1, tries);
  return {
    calls: spent.calls / each,
    promptTokens: spent.promptTokens / each,
    completionTokens: spent.completionTokens / each,
  };
}
