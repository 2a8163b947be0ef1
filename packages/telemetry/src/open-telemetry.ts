/**
 * Implements the port with the OpenTelemetry SDK. A run is one trace, whichever processes work on it (trace-ids.ts):
 *
 *   run                                 written by the process that commits its end
 *   ├─ startRun                         by the API, with a link to the trace of the request
 *   ├─ process control                  BullMQ's own (queue-telemetry.ts)
 *   ├─ prompt, execute, check …         by the worker, one per attempt; a later attempt links to the one before
 *   │  └─ chat MODEL, command           its calls to models and commands
 *   └─ call
 *      └─ run                           the called run
 *
 * kill -9: spans that had not ended or were not sent yet are missing. The other spans have the right parents: they do not depend on other
 * processes.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { TelemetrySettings } from "@markmill/config";
import { type Attributes, DiagLogLevel, diag, SpanKind } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { openInstruments } from "./instruments.ts";
import { now } from "./now.ts";
import { createSender } from "./otlp-sender.ts";
import type { Spent, Telemetry, TracedActivity, TracedRun, Watched } from "./port.ts";
import { createQueueTelemetry } from "./queue-telemetry.ts";
import { noSpans, openSpanWriter } from "./span-writer.ts";
import { activitySpanId, earlierSpanId, runSpanId, traceIdOf } from "./trace-ids.ts";
import { readTraceParent } from "./trace-parent.ts";

export interface TelemetryOptions {
  readonly settings: TelemetrySettings;
  /** api, worker … */
  readonly role: string;
  readonly version: string;
  /** Called each time that telemetry is lost. */
  readonly onLost: (why: string) => void;
}

/** The time to send the remaining data when the process ends. */
const farewellMs = 3_000;

export function openTelemetry({ settings, role, version, onLost }: TelemetryOptions): Telemetry {
  tellLosses(onLost);
  const resource = resourceFromAttributes({
    ...settings.resource,
    "service.name": settings.serviceName,
    "service.version": version,
    "service.instance.id": randomUUID(),
    "service.instance.role": role,
    "host.name": hostname(),
    "process.pid": process.pid,
  });
  const { tracesUrl, metricsUrl } = settings;
  const sendTraces = tracesUrl === null ? null : createSender({ ...settings, url: tracesUrl });
  const sendMetrics = metricsUrl === null ? null : createSender({ ...settings, url: metricsUrl });
  const spans = sendTraces === null ? noSpans : openSpanWriter(settings, resource, sendTraces);
  const meters = openInstruments(settings, resource, sendMetrics);
  const queue = createQueueTelemetry(spans, meters);
  const placeOf = ({ id, rootId }: TracedRun) => ({ traceId: traceIdOf(rootId), parentId: runSpanId(id) });

  return {
    queue: queue.option,
    enqueuing: (run, enqueue) => queue.within(placeOf(run), enqueue),

    started({ id, rootId, route, traceparent, forkOf, created, tookMs }) {
      const to = now();
      const caller = readTraceParent(traceparent);
      spans.write({
        ...placeOf({ id, rootId }),
        name: route,
        kind: SpanKind.SERVER,
        from: to - tookMs,
        to,
        attributes: { ...runFacts({ id, rootId }), "markmill.run.created": created },
        links: [
          ...(caller === null ? [] : [caller]),
          ...(forkOf === null ? [] : [{ traceId: traceIdOf(forkOf), spanId: runSpanId(forkOf) }]),
        ],
      });
    },

    ended({ id, rootId, parent, definitionHash, status, code, lastedMs, spent }) {
      const to = now();
      const depth = parent === null ? "root" : "called";
      meters.runs.add(1, { status, depth, ...(code === null ? {} : { code }) });
      spans.write({
        name: "run",
        traceId: traceIdOf(rootId),
        spanId: runSpanId(id),
        from: to - lastedMs,
        to,
        parentId: parent === null ? null : activitySpanId({ id: parent.activityId, claim: 0, attempt: parent.attempt }),
        attributes: {
          ...runFacts({ id, rootId }),
          "markmill.definition": definitionHash,
          "markmill.run.status": status,
          "markmill.run.steps": spent.steps,
          ...spentFacts(spent),
        },
        error: status === "success" ? undefined : (code ?? status),
      });
    },

    answered({ run, id, attempt, expired }) {
      const at = now();
      meters.activities.add(1, { kind: "ask", outcome: expired ? "expired" : "succeed" });
      spans.write({
        ...placeOf(run),
        name: "ask",
        spanId: activitySpanId({ id, claim: 0, attempt }),
        from: at,
        to: at,
        attributes: {
          ...runFacts(run),
          "markmill.activity.id": id,
          "markmill.activity.kind": "ask",
          "markmill.activity.outcome": expired ? "expired" : "succeed",
        },
      });
    },

    perform(activity) {
      queue.adopt(placeOf(activity.run));
      return watch(activity);
    },

    observe: meters.observe,

    async close() {
      const sent = Promise.allSettled([spans.close(), meters.close()]);
      await Promise.race([sent, sleep(farewellMs, undefined, { ref: false })]);
      sendTraces?.cut();
      sendMetrics?.cut();
      // Now every request has failed, so the SDK's timers end.
      await Promise.race([sent, sleep(1_000, undefined, { ref: false })]);
    },
  };

  function watch(activity: TracedActivity): Watched {
    const { run, id, kind } = activity;
    const from = now();
    const tried = { id, claim: kind === "call" ? 0 : activity.claim, attempt: activity.attempt };
    const spanId = activitySpanId(tried);
    const { traceId, parentId } = placeOf(run);
    meters.waitSeconds.record(Math.max(0, activity.askedMsAgo) / 1000, { kind });
    return {
      modelCall(model, maxOutputTokens) {
        const began = now();
        return (end) => {
          const to = now();
          const asked = plainName(model);
          const facts: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": asked,
          };
          const failed = end.did === "fail" ? { "error.type": end.code } : {};
          const answered = end.did === "reply" ? { "gen_ai.response.model": plainName(end.model) } : {};
          meters.modelSeconds.record((to - began) / 1000, { ...facts, ...answered, ...failed });
          if (end.did === "reply") {
            const kinds = { input: end.promptTokens, output: end.completionTokens };
            for (const [type, tokens] of Object.entries(kinds))
              meters.modelTokens.record(tokens, { ...facts, ...answered, "gen_ai.token.type": type });
            meters.modelDollars.add(end.nanodollars / 1e9, { "gen_ai.request.model": asked });
          }
          spans.write({
            name: `chat ${asked}`,
            kind: SpanKind.CLIENT,
            traceId,
            parentId: spanId,
            from: began,
            to,
            attributes: {
              ...facts,
              ...answered,
              "markmill.run.id": run.id,
              "markmill.activity.id": id,
              ...(maxOutputTokens === null ? {} : { "gen_ai.request.max_tokens": maxOutputTokens }),
              ...(end.did === "fail"
                ? {}
                : {
                    "gen_ai.response.finish_reasons": [end.finishReason],
                    "gen_ai.usage.input_tokens": end.promptTokens,
                    "gen_ai.usage.output_tokens": end.completionTokens,
                    "markmill.cost.nanodollars": end.nanodollars,
                  }),
            },
            error: end.did === "fail" ? end.code : undefined,
          });
        };
      },

      command(language, trust) {
        const began = now();
        return (end) => {
          const to = now();
          const outcome = end.did === "fail" ? end.code : end.timedOut === false ? "end" : `timeout ${end.timedOut}`;
          meters.commandSeconds.record((to - began) / 1000, { language, outcome });
          spans.write({
            name: "command",
            traceId,
            parentId: spanId,
            from: began,
            to,
            attributes: {
              "markmill.run.id": run.id,
              "markmill.activity.id": id,
              "markmill.command.language": language,
              "markmill.command.trust": trust,
              "markmill.command.outcome": outcome,
              ...(end.did === "fail"
                ? {}
                : {
                    ...(end.exitCode === null ? {} : { "process.exit.code": end.exitCode }),
                    "markmill.command.out_of_memory": end.outOfMemory,
                    "markmill.command.output_bytes": end.outputBytes,
                  }),
            },
            error: end.did === "fail" ? end.code : undefined,
          });
        };
      },

      end(end) {
        const to = now();
        const outcome = end.did;
        const code = end.did === "fail" ? end.code : undefined;
        meters.activities.add(1, { kind, outcome, ...(code === undefined ? {} : { code }) });
        meters.activitySeconds.record((to - from) / 1000, { kind, outcome });
        const earlier = earlierSpanId(tried);
        spans.write({
          name: kind,
          traceId,
          spanId,
          parentId,
          to,
          // A call lasts from its request to its return. That is longer than this delivery, because an earlier one created the called run.
          from: kind === "call" ? Math.min(from, to - activity.askedMsAgo) : from,
          attributes: {
            ...runFacts(run),
            "markmill.activity.id": id,
            "markmill.activity.kind": kind,
            ...(activity.node === null ? {} : { "markmill.activity.node": activity.node }),
            "markmill.activity.generation": activity.generation,
            "markmill.activity.attempt": activity.attempt,
            "markmill.activity.takeovers": activity.takeovers,
            "markmill.activity.outcome": outcome,
            "markmill.activity.asked_ms_ago": Math.round(activity.askedMsAgo),
            ...(end.did === "fail" ? { "markmill.activity.next": end.next } : {}),
            ...(end.did === "succeed" && end.exitCode !== undefined ? { "process.exit.code": end.exitCode } : {}),
            ...(end.did === "give back" || end.spent === null ? {} : spentFacts(end.spent)),
            "messaging.destination.name": activity.queue,
            "messaging.message.id": activity.job,
          },
          links: earlier === null ? [] : [{ traceId, spanId: earlier }],
          error: code,
        });
      },
    };
  }
}

/** Workflows and endpoints name models. Text that does not look like a model name is not passed on (T1). */
const plainName = (model: string) => (/^[\w.:/@+-]{1,100}$/.test(model) ? model : "other");

const runFacts = ({ id, rootId }: TracedRun) => ({ "markmill.run.id": id, "markmill.run.root_id": rootId });

function spentFacts({ calls, promptTokens, completionTokens, nanodollars }: Spent): Attributes {
  return {
    "markmill.calls": calls,
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens,
    "markmill.cost.nanodollars": nanodollars,
  };
}

/** The SDK reports its problems at one place in the process. Its messages may contain addresses, so only the fact is passed on. */
function tellLosses(onLost: (why: string) => void): void {
  const tell = () => {
    onLost("the collector does not take what is sent, or too much is sent: spans or metrics are lost");
  };
  const quiet = () => undefined;
  diag.setLogger(
    { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
