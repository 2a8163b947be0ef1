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
  status: {
    summary: "Show a run, or list the latest runs",
    load: async () => (await import("./commands/status.ts")).status,
  },
  watch: {
    summary: "Follow a run or a class to its end",
    load: async () => (await import("./commands/watch.ts")).watch,
  },
  logs: { summary: "List the events of a run", load: async () => (await import("./commands/logs.ts")).logs },
  answer: { summary: "Answer a question from a run", load: async () => (await import("./commands/answer.ts")).answer },
  cancel: { summary: "Cancel a run or a class", load: async () => (await import("./commands/cancel.ts")).cancel },
  stop: { summary: "Stop a run; it can be resumed", load: async () => (await import("./commands/stop.ts")).stop },
  resume: {
    summary: "Resume a waiting run or a paused class",
    load: async () => (await import("./commands/resume.ts")).resume,
  },
  retry: {
    summary: "Retry a run from one of its steps",
    load: async () => (await import("./commands/retry.ts")).retry,
  },
  history: {
    summary: "Export the full history of a run",
    load: async () => (await import("./commands/history.ts")).history,
  },
  replay: {
    summary: "Verify a run against its recorded events",
    load: async () => (await import("./commands/replay.ts")).replay,
  },
  memory: {
    summary: "List or delete shared memory",
    load: async () => (await import("./commands/memory.ts")).memory,
  },
  estimate: {
    summary: "Estimate the cost and time of a class",
    load: async () => (await import("./commands/estimate.ts")).estimate,
  },
  review: {
    summary: "List submissions that need a human decision",
    load: async () => (await import("./commands/review.ts")).review,
  },
  override: {
    summary: "Set the points of a criterion by hand",
    load: async () => (await import("./commands/override.ts")).override,
  },
  regrade: {
    summary: "Grade selected submissions again",
    load: async () => (await import("./commands/regrade.ts")).regrade,
  },
  agree: {
    summary: "Compare proposed grades with human grades",
    load: async () => (await import("./commands/agree.ts")).agree,
  },
  release: { summary: "Release grades to students", load: async () => (await import("./commands/release.ts")).release },
  export: {
    summary: "Export grades to a gradebook",
    load: async () => (await import("./commands/export.ts")).exportCommand,
  },
  report: { summary: "Write the reports of a class", load: async () => (await import("./commands/report.ts")).report },
  pause: {
    summary: "Pause a class: start no new submissions",
    load: async () => (await import("./commands/pause.ts")).pause,
  },
  validate: {
    bare: true,
    summary: "Validate workflow files",
    load: async () => (await import("./commands/validate.ts")).validate,
  },
  show: {
    bare: true,
    summary: "Show the steps of a workflow",
    load: async () => (await import("./commands/show.ts")).show,
  },
  explain: {
    bare: true,
    summary: "Explain an error code",
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
    summary: "Check this machine and its configuration",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  init: {
    bare: true,
    summary: "Create a project or a sample course",
    load: async () => (await import("./commands/init.ts")).init,
  },
  trust: {
    bare: true,
    summary: "Trust the .env file of a project",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  up: { here: true, summary: "Start the local stack", load: async () => (await import("./commands/up.ts")).up },
  down: { here: true, summary: "Stop the local stack", load: async () => (await import("./commands/down.ts")).down },
  api: {
    here: true,
    summary: "Run the HTTP API (production)",
    load: async () => (await import("./commands/api.ts")).api,
  },
  worker: {
    here: true,
    summary: "Run a worker process (production)",
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  supervisor: {
    here: true,
    summary: "Run a supervisor process (production)",
    load: async () => (await import("./commands/supervisor.ts")).supervisor,
  },
  migrate: {
    here: true,
    summary: "Update the database schema",
    load: async () => (await import("./commands/migrate.ts")).migrate,
  },
};
