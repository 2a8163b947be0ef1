/** Lists every subcommand. A command is loaded only when it is called. */
import type { Command } from "./command.ts";

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
  /** The command concerns this machine, even if MARKMILL_URL names a server. */
  readonly here?: true;
  /** The command reads no project settings, so no trust is needed. */
  readonly bare?: true;
}

/** Commands by the first word of a call, in the order of the help. */
export const commands: Readonly<Record<string, Entry>> = {
  grade: { summary: "Grade a class", load: async () => (await import("./commands/grade.ts")).grade },
  run: { summary: "Run a workflow", load: async () => (await import("./commands/run.ts")).run },
  status: { summary: "Show the latest runs, or one", load: async () => (await import("./commands/status.ts")).status },
  watch: { summary: "Follow a run, or continue it", load: async () => (await import("./commands/watch.ts")).watch },
  logs: { summary: "List what happened in a run", load: async () => (await import("./commands/logs.ts")).logs },
  answer: { summary: "Answer a question of a run", load: async () => (await import("./commands/answer.ts")).answer },
  cancel: { summary: "End a run", load: async () => (await import("./commands/cancel.ts")).cancel },
  stop: { summary: "Halt a run, to be resumed", load: async () => (await import("./commands/stop.ts")).stop },
  resume: { summary: "Go on with a run that waits", load: async () => (await import("./commands/resume.ts")).resume },
  retry: { summary: "Go on from a step, as a new run", load: async () => (await import("./commands/retry.ts")).retry },
  history: { summary: "Write a run down in full", load: async () => (await import("./commands/history.ts")).history },
  replay: {
    summary: "Check a run against its events",
    load: async () => (await import("./commands/replay.ts")).replay,
  },
  memory: {
    summary: "Show what runs remember together",
    load: async () => (await import("./commands/memory.ts")).memory,
  },
  estimate: {
    summary: "Say what a class will cost",
    load: async () => (await import("./commands/estimate.ts")).estimate,
  },
  review: {
    summary: "List submissions that need a human decision",
    load: async () => (await import("./commands/review.ts")).review,
  },
  override: { summary: "Set points by hand", load: async () => (await import("./commands/override.ts")).override },
  regrade: { summary: "Grade some of a class anew", load: async () => (await import("./commands/regrade.ts")).regrade },
  agree: { summary: "Compare with grades of people", load: async () => (await import("./commands/agree.ts")).agree },
  release: { summary: "Let grades be given out", load: async () => (await import("./commands/release.ts")).release },
  export: {
    summary: "Write grades for a gradebook",
    load: async () => (await import("./commands/export.ts")).exportCommand,
  },
  report: { summary: "Write the reports of a class", load: async () => (await import("./commands/report.ts")).report },
  pause: { summary: "Begin nothing new of a class", load: async () => (await import("./commands/pause.ts")).pause },
  validate: {
    bare: true,
    summary: "Check workflow files",
    load: async () => (await import("./commands/validate.ts")).validate,
  },
  show: {
    bare: true,
    summary: "Show what a workflow does",
    load: async () => (await import("./commands/show.ts")).show,
  },
  explain: {
    bare: true,
    summary: "Say what a code means",
    load: async () => (await import("./commands/explain.ts")).explain,
  },
  "mock-model": {
    bare: true,
    summary: "Serve a scripted model",
    load: async () => (await import("./commands/mock-model.ts")).mockModel,
  },
  sandbox: {
    here: true,
    summary: "Test the sandbox",
    load: async () => (await import("./commands/sandbox.ts")).sandbox,
  },
  doctor: {
    summary: "Check this machine and its setup",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  init: {
    bare: true,
    summary: "Make this folder a project",
    load: async () => (await import("./commands/init.ts")).init,
  },
  trust: {
    bare: true,
    summary: "Let the .env of a folder count",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  up: { here: true, summary: "Start the stack here", load: async () => (await import("./commands/up.ts")).up },
  down: { here: true, summary: "Stop what 'up' started", load: async () => (await import("./commands/down.ts")).down },
  api: {
    here: true,
    summary: "Be the HTTP API (production)",
    load: async () => (await import("./commands/api.ts")).api,
  },
  worker: {
    here: true,
    summary: "Be a worker (production)",
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  supervisor: {
    here: true,
    summary: "Be a supervisor (production)",
    load: async () => (await import("./commands/supervisor.ts")).supervisor,
  },
  migrate: {
    here: true,
    summary: "Bring the database up to date",
    load: async () => (await import("./commands/migrate.ts")).migrate,
  },
};
