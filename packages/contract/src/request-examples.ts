/** An example body for every route that accepts one. Tests check each against its schema. */
import type { RouteName } from "./routes.ts";

const definition = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const workflow = '# Workflow\n\n```mermaid\nflowchart TD\n  START --> SET_A["SET: A = 1"] --> SUCCESS\n```\n';
const upload = { root: "main.wf.md", files: { "main.wf.md": workflow } };
const key = "ada@example.edu";

export const requestExamples: Partial<Record<RouteName, unknown>> = {
  validateDefinition: upload,
  saveDefinition: upload,
  startRun: { definition, variables: { TOPIC: "recursion" }, caps: { dollars: 0.5 }, labels: { course: "101" } },
  cancelRun: { message: "started by mistake" },
  retryRun: { from: ["START"], definition: "current" },
  saveBatch: {
    key: "cs101/lab3",
    name: "Lab 3",
    definition,
    concurrency: 20,
    late: { percentPerDay: 10, mostPercent: 50 },
    aiConsent: "any",
    language: null,
    budget: { nanodollars: 5_000_000_000, tokens: null },
    members: [{ key, name: "Ada Lovelace", email: key }],
    works: [
      {
        key,
        by: [key],
        group: null,
        label: "Ada Lovelace",
        sources: ["ada.zip"],
        attempt: 1,
        counts: true,
        submittedAt: "2026-11-13T17:16:00Z",
        lateness: { is: "on time" },
        content: { is: "empty" },
      },
    ],
  },
  updateBatch: { concurrency: 40 },
  recordGrade: { work: key, kind: "override", criterion: "style", points: 1.5, reason: "The names are clear." },
  pauseBatch: { reason: "The rubric is being changed." },
  cancelBatch: { reason: "The wrong class was uploaded." },
  retryWorks: { keys: [key] },
  regradeWorks: { keys: [key], definition },
  answerAsk: { text: "Yes, go on." },
  createWebhook: { url: "https://portal.example.edu/markmill", events: ["batch.ended", "ask.opened"] },
  updateWebhook: { enabled: false },
  logIn: { tenant: "default", name: "grace", password: "correct horse battery" },
  changePassword: { current: "correct horse battery", password: "a new horse battery" },
  createUser: { name: "grace", password: "correct horse battery", roles: ["grader"] },
  updateUser: { roles: ["grader", "reader"] },
  createKey: { name: "night import", roles: ["grader"], expiresAt: "2027-01-31T00:00:00Z" },
  createTenant: { id: "physics", name: "Physics" },
};
