/**
 * The table of all routes. The server registers its routes from it, the client takes its types from it, and the OpenAPI document is
 * generated from it. The names are the document's operation ids and the audit log's actions, and never change.
 */
import type { z } from "zod";
import * as access from "./access-schemas.ts";
import * as batches from "./batch-schemas.ts";
import * as definitions from "./definition-schemas.ts";
import { runEvent } from "./event-schemas.ts";
import * as files from "./file-schemas.ts";
import * as memory from "./memory-schemas.ts";
import * as operations from "./operation-schemas.ts";
import type { Route } from "./route.ts";
import * as runs from "./run-schemas.ts";
import { listQuery } from "./values.ts";
import * as webhooks from "./webhook-schemas.ts";

const json = <S extends z.ZodType>(schema: S) => ({ kind: "json", status: 200, schema }) as const;
const made = <S extends z.ZodType>(schema: S) => ({ kind: "json", status: 201, schema }) as const;
const none = { kind: "none", status: 204 } as const;
const aBatch = { tag: "Batches", params: batches.batchParams } as const;
const aRun = { tag: "Runs", params: runs.runParams } as const;

export const routes = {
  // Definitions
  validateDefinition: {
    ...{ method: "POST", path: "/v1/definitions/validate", tag: "Definitions", access: "definitions:read" },
    summary: "Check a workflow with all its files, and keep nothing",
    body: definitions.definitionUpload,
    answer: json(definitions.definitionCheck),
  },
  saveDefinition: {
    ...{ method: "POST", path: "/v1/definitions", tag: "Definitions", access: "definitions:write" },
    summary: "Upload a workflow with all its files",
    description: "A definition is immutable under its hash: the same files give the same one (200 instead of 201).",
    body: definitions.definitionUpload,
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: definitions.savedDefinition },
    problems: ["DEFINITION_INVALID"],
  },
  listDefinitions: {
    ...{ method: "GET", path: "/v1/definitions", tag: "Definitions", access: "definitions:read" },
    summary: "The latest definition of each name",
    query: definitions.definitionQuery,
    answer: json(definitions.definitionPage),
  },
  getDefinition: {
    ...{ method: "GET", path: "/v1/definitions/{hash}", tag: "Definitions", access: "definitions:read" },
    summary: "One definition",
    params: definitions.definitionParams,
    answer: json(definitions.definitionDetail),
  },
  listDefinitionVersions: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/versions", tag: "Definitions", access: "definitions:read" },
    summary: "Definitions of the same name, the latest first",
    params: definitions.definitionParams,
    query: listQuery,
    answer: json(definitions.versionList),
  },
  getDefinitionSource: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/source", tag: "Definitions", access: "definitions:read" },
    summary: "Its files as they were uploaded",
    params: definitions.definitionParams,
    query: definitions.sourceQuery,
    answer: json(definitions.definitionSource),
  },
  getDefinitionProgram: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/program", tag: "Definitions", access: "definitions:read" },
    summary: "What a workflow file compiled to",
    params: definitions.definitionParams,
    query: definitions.programQuery,
    answer: json(definitions.compiledProgram),
  },
  getDefinitionMermaid: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/mermaid", tag: "Definitions", access: "definitions:read" },
    summary: "Its flowchart, as Mermaid text",
    params: definitions.definitionParams,
    query: definitions.programQuery,
    answer: { kind: "text", status: 200, type: "text/plain; charset=utf-8" },
  },

  // Runs
  startRun: {
    ...{ method: "POST", path: "/v1/runs", tag: "Runs", access: "runs:write" },
    summary: "Start a run",
    description:
      "Answers once the run is kept; workers go on from there. With an Idempotency-Key a repeated request finds the same run (200).",
    headers: runs.idempotencyHeaders,
    body: runs.runStart,
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: runs.startedRun },
    problems: ["START_REFUSED", "IDEMPOTENCY_KEY_REUSED"],
  },
  listRuns: {
    ...{ method: "GET", path: "/v1/runs", tag: "Runs", access: "runs:read" },
    summary: "List runs, newest first",
    query: runs.runQuery,
    answer: json(runs.runPage),
  },
  getRun: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}", access: "runs:read" },
    summary: "One run: how it stands, what it does, what it has cost",
    answer: json(runs.run),
  },
  listActivities: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/activities", access: "runs:read" },
    summary: "Its activities, in the order in which they ended, the open ones last",
    query: runs.pageQuery,
    answer: json(runs.activityPage),
  },
  listCalls: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/calls", access: "runs:read" },
    summary: "What models were asked and what they replied",
    query: runs.pageQuery,
    answer: json(runs.callPage),
  },
  listToolCalls: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/tool-calls", access: "runs:read" },
    summary: "What tools were asked and what they gave",
    query: runs.pageQuery,
    answer: json(runs.toolCallPage),
  },
  listMessages: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/messages", access: "runs:read" },
    summary: "What it said in its conversations",
    query: runs.pageQuery,
    answer: json(runs.messagePage),
  },
  getVariables: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/variables", access: "runs:read" },
    summary: "Its variables as they are now",
    answer: json(runs.variablesOfRun),
  },
  getHits: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/hits", access: "runs:read" },
    summary: "How often it came to each node",
    answer: json(runs.hitsOfRun),
  },
  listChildRuns: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/children", access: "runs:read" },
    summary: "Runs that it called",
    query: listQuery,
    answer: json(runs.childPage),
  },
  listEvents: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/events", tag: "Events", access: "runs:read" },
    summary: "What happened to it; waits for news when asked to",
    query: runs.eventQuery,
    answer: json(runs.eventPage),
  },
  streamEvents: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/stream", tag: "Events", access: "runs:read" },
    summary: "What happens to it, as server-sent events",
    description:
      "Every event once and in order; after a break the client sends Last-Event-ID and misses nothing. An event named `ask`, without an id, tells of a question that waits for a person, of this run or one it called; it is told again after a break while it waits. The last event is named `end`. Asked again with its id, the answer is 204, which tells a browser to stop.",
    query: runs.streamQuery,
    headers: runs.streamHeaders,
    answer: { kind: "events", status: 200, schema: runEvent, end: runs.streamEnd, others: { ask: runs.ask } },
  },
  replayRun: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/replay", tag: "Events", access: "runs:read" },
    summary: "Fold its events once more, and compare the outcome with what is stored",
    description:
      "Done at the server, with the values of the run's environment, which it tells nobody. Nothing is asked, executed or changed.",
    answer: json(runs.replay),
  },
  getSubmission: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/submission", tag: "Files", access: "files:read" },
    summary: "What was handed in, as a tar",
    answer: { kind: "bytes", status: 200, type: "application/x-tar" },
  },
  cancelRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/cancel", access: "runs:write" },
    summary: "End it, with all it called",
    body: runs.cancelBody.optional(),
    answer: json(runs.changedRun),
    problems: ["RUN_ENDED"],
  },
  stopRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/stop", access: "runs:write" },
    summary: "Halt it; it can be resumed",
    answer: json(runs.changedRun),
    problems: ["RUN_ENDED", "RUN_UNCHANGED", "RUN_NOT_ROOT"],
  },
  resumeRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/resume", access: "runs:write" },
    summary: "Go on with a run that was stopped, or that waits for an endpoint",
    answer: json(runs.resumedRun),
    problems: ["RUN_ENDED", "RUN_UNCHANGED"],
  },
  retryRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/retry", access: "runs:write" },
    summary: "A new run that takes over what this one did up to a point",
    headers: runs.idempotencyHeaders,
    body: runs.retryBody.optional(),
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: runs.retriedRun },
    problems: ["RUN_OPEN", "RUN_NOT_ROOT", "RUN_OF_CLASS", "NO_FORK", "START_REFUSED", "IDEMPOTENCY_KEY_REUSED"],
  },
  deleteRun: {
    ...aRun,
    ...{ method: "DELETE", path: "/v1/runs/{id}", access: "runs:delete" },
    summary: "Delete an ended run with all it called and kept",
    answer: none,
    problems: ["RUN_OPEN", "RUN_NOT_ROOT"],
  },

  // Batches
  saveBatch: {
    ...{ method: "POST", path: "/v1/batches", tag: "Batches", access: "batches:write" },
    summary: "Save a class: its members, and what they handed in",
    description:
      "Twice is once: a batch is known by its key, a work by its key and content. Changed content is tried anew, nothing is deleted. A large class is saved piece by piece. Works begin as the concurrency allows. A changed rubric that voids points, marks or releases is refused with 409 RUBRIC_VOIDS, which lists them for each criterion: send its `confirm` as `confirmedVoids` to save it.",
    body: batches.batchSave,
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: batches.savedBatch },
    problems: ["BATCH_REFUSED", "START_REFUSED", "RUBRIC_VOIDS"],
  },
  listBatches: {
    ...{ method: "GET", path: "/v1/batches", tag: "Batches", access: "batches:read" },
    summary: "List batches, newest first",
    query: batches.batchQuery,
    answer: json(batches.batchPage),
  },
  getBatch: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}", access: "batches:read" },
    summary: "One batch: how its works stand, what it has cost, what it waits for",
    answer: json(batches.batch),
  },
  streamBatch: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/stream", access: "batches:read" },
    summary: "How it stands, as server-sent events",
    description:
      "Each event is the whole of how the batch stands, sent when it changes: after a break a client is told how it stands now. The last event is named `end`: every work has ended, or the batch is cancelled and its last run has ended. Asked again with its id, the answer is 204, which tells a browser to stop.",
    headers: batches.batchStreamHeaders,
    answer: { kind: "events", status: 200, schema: batches.batchSummary, end: batches.batchSummary },
  },
  updateBatch: {
    ...aBatch,
    ...{ method: "PATCH", path: "/v1/batches/{id}", access: "batches:write" },
    summary: "Change how many of its works run at once, what it may spend, or which model it asks",
    body: batches.batchChange,
    answer: json(batches.changedBatch),
    problems: ["BATCH_REFUSED"],
  },
  deleteBatch: {
    ...aBatch,
    ...{ method: "DELETE", path: "/v1/batches/{id}", access: "runs:delete" },
    summary: "Delete a batch with its members, works, runs and all that was said of its grades",
    answer: none,
    problems: ["RUN_OPEN"],
  },
  listWorks: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/works", access: "batches:read" },
    summary: "Its works by key: how each stands, and its grade",
    description:
      "Without members:read works have their pseudonyms as keys, and grades their numbers: nothing that may tell whose they are.",
    query: batches.workQuery,
    answer: json(batches.workPage),
  },
  listTries: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/tries", access: "members:read" },
    summary: "All tries of one work, the oldest first, each with its own grade",
    query: batches.tryQuery,
    answer: json(batches.tryList),
  },
  listMembers: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/members", access: "members:read" },
    summary: "Who is in it, and which pseudonym is whose",
    query: batches.memberQuery,
    answer: json(batches.memberPage),
  },
  listGradeEvents: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/grades", access: "members:read" },
    summary: "What people said of its grades, the oldest first",
    query: batches.gradeQuery,
    answer: json(batches.gradePage),
  },
  recordGrade: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/grades", access: "grades:write" },
    summary: "Override a criterion with a reason, confirm a review, release a grade or withdraw it",
    description:
      "An override without points (null) takes back one mark: the named one, or your own last one of that criterion. To replace or take back a mark of another person, send the work's `etag` as If-Match: without it the answer is 428, and 412 if the grade has changed since. The ETag of the answer is the work's new one. A repeated request with the same Idempotency-Key gets the same answer and appends nothing. While the batch is being deleted the answer is 409.",
    headers: batches.gradeHeaders,
    body: batches.gradeBody,
    etag: true,
    answer: made(batches.gradeEvent),
    problems: ["GRADE_INVALID", "GRADE_REFUSED", "GRADE_CHANGED", "GRADE_UNSEEN", "IDEMPOTENCY_KEY_REUSED"],
  },
  pauseBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/pause", access: "batches:write" },
    summary: "Begin no further work; what runs goes on to its end",
    body: batches.reasonBody,
    answer: json(batches.changedBatch),
  },
  resumeBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/resume", access: "batches:write" },
    summary: "Go on with it, and with its runs that wait to be resumed",
    answer: json(batches.changedBatch),
  },
  cancelBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/cancel", access: "batches:write" },
    summary: "End its open runs and begin none; grades stand",
    body: batches.reasonBody,
    answer: json(batches.changedBatch),
  },
  retryWorks: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/retry", access: "batches:write" },
    summary: "Try those again that failed; grades that stand are not repeated",
    body: batches.retryWorksBody.optional(),
    answer: json(batches.retriedWorks),
  },
  regradeWorks: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/regrade", access: "batches:write" },
    summary: "Grade these anew, with this or another definition; earlier tries stay",
    body: batches.regradeBody,
    answer: json(batches.retriedWorks),
    problems: ["START_REFUSED"],
  },

  // Asks
  listAsks: {
    ...{ method: "GET", path: "/v1/asks", tag: "Asks", access: "runs:read" },
    summary: "Questions that wait for a person, oldest first",
    query: runs.askQuery,
    answer: json(runs.askList),
  },
  answerAsk: {
    ...{ method: "POST", path: "/v1/asks/{id}/answer", tag: "Asks", access: "asks:answer" },
    summary: "Answer one",
    params: runs.askParams,
    body: runs.answerBody,
    answer: json(runs.answered),
    problems: ["ASK_CLOSED"],
  },

  // Files
  uploadFile: {
    ...{ method: "POST", path: "/v1/files", tag: "Files", access: "files:write" },
    summary: "Store bytes under their SHA-256",
    description:
      "The body is the bytes themselves (application/octet-stream), or a form with exactly one file (multipart/form-data). A file that no run names is deleted after a while.",
    upload: true,
    location: true,
    answer: made(files.storedFile),
  },
  downloadFile: {
    ...{ method: "GET", path: "/v1/files/{hash}", tag: "Files", access: "files:read" },
    summary: "The bytes again",
    params: files.fileParams,
    answer: { kind: "bytes", status: 200, type: "application/octet-stream" },
  },
  uploadSubmission: {
    ...{ method: "POST", path: "/v1/submissions", tag: "Files", access: "files:write" },
    summary: "Hand in files for a run: an archive or a single file",
    description:
      "The body is the bytes themselves (application/octet-stream), or a form with exactly one file (multipart/form-data), as `curl -F file=@answer.py` sends it.",
    query: files.submissionQuery,
    upload: true,
    answer: made(files.storedSubmission),
    problems: ["SUBMISSION_REFUSED"],
  },

  // Memory
  listMemoryScopes: {
    ...{ method: "GET", path: "/v1/scopes", tag: "Memory", access: "runs:read" },
    summary: "Scopes of memory that have a name, by name",
    description: "Passages that a run keeps for itself are the run's, and go with it.",
    query: runs.pageQuery,
    answer: json(memory.scopePage),
  },
  listPassages: {
    ...{ method: "GET", path: "/v1/scopes/{name}/passages", tag: "Memory", access: "runs:read" },
    summary: "What is in one, in the order of insertion",
    params: memory.scopeParams,
    query: runs.pageQuery,
    answer: json(memory.passagePage),
  },
  deleteMemoryScope: {
    ...{ method: "DELETE", path: "/v1/scopes/{name}", tag: "Memory", access: "runs:delete" },
    summary: "Delete all that is in one; what runs insert meanwhile stays",
    params: memory.scopeParams,
    answer: none,
  },

  // Models, usage
  listModels: {
    ...{ method: "GET", path: "/v1/models", tag: "Models and cost", access: "models:read" },
    summary: "Models, their prices, and those that are paused",
    query: listQuery,
    answer: json(operations.modelList),
  },
  getUsage: {
    ...{ method: "GET", path: "/v1/usage", tag: "Models and cost", access: "usage:read" },
    summary: "What was spent, by run, definition, model, label or day",
    query: operations.usageQuery,
    answer: json(operations.usage),
  },

  // Operation
  listWorkers: {
    ...{ method: "GET", path: "/v1/workers", tag: "Operation", access: "ops:read" },
    summary: "Workers by their heartbeat",
    query: listQuery,
    answer: json(operations.workerList),
  },
  listQueues: {
    ...{ method: "GET", path: "/v1/queues", tag: "Operation", access: "ops:read" },
    summary: "How many jobs each queue has, by state",
    query: listQuery,
    answer: json(operations.queueList),
  },
  getMetrics: {
    ...{ method: "GET", path: "/metrics", tag: "Operation", access: "ops:read" },
    summary: "Metrics for Prometheus",
    answer: { kind: "text", status: 200, type: "text/plain; version=0.0.4; charset=utf-8" },
  },
  getLive: {
    ...{ method: "GET", path: "/health/live", tag: "Operation", access: "public" },
    summary: "The process answers",
    answer: json(operations.health),
  },
  getReady: {
    ...{ method: "GET", path: "/health/ready", tag: "Operation", access: "public" },
    summary: "It can serve: the database answers. What it can do without is told: the queue, the workers, a sandbox",
    answer: { kind: "json", status: 200, also: 503, schema: operations.health },
  },
  getOpenapi: {
    ...{ method: "GET", path: "/openapi.json", tag: "Operation", access: "public" },
    summary: "This document",
    answer: { kind: "text", status: 200, type: "application/json; charset=utf-8" },
  },
  getDocs: {
    ...{ method: "GET", path: "/docs", tag: "Operation", access: "public" },
    summary: "This document for people",
    answer: { kind: "text", status: 200, type: "text/html; charset=utf-8" },
  },

  // Webhooks
  createWebhook: {
    ...{ method: "POST", path: "/v1/webhooks", tag: "Webhooks", access: "access:manage" },
    summary: "Be told when something ends, opens or is released",
    description:
      "What happens is sent by POST as JSON (`type`, `timestamp`, `data`), signed as the Standard Webhooks specification has it, at least once and in no certain order: `webhook-id` is the same when something is sent again. Any status from 200 to 299 is a delivery. Everything else is tried again, ten times over two days; 410 ends it.",
    body: webhooks.newWebhook,
    answer: made(webhooks.madeWebhook),
  },
  listWebhooks: {
    ...{ method: "GET", path: "/v1/webhooks", tag: "Webhooks", access: "access:manage" },
    summary: "Webhooks of the tenant, without their secrets",
    query: listQuery,
    answer: json(webhooks.webhookList),
  },
  updateWebhook: {
    ...{ method: "PATCH", path: "/v1/webhooks/{id}", tag: "Webhooks", access: "access:manage" },
    summary: "Change its address or what it is told, or disable it",
    params: webhooks.webhookParams,
    body: webhooks.webhookChange,
    answer: json(webhooks.changedWebhook),
  },
  deleteWebhook: {
    ...{ method: "DELETE", path: "/v1/webhooks/{id}", tag: "Webhooks", access: "access:manage" },
    summary: "Delete a webhook with the log of what it was sent",
    params: webhooks.webhookParams,
    answer: none,
  },
  testWebhook: {
    ...{ method: "POST", path: "/v1/webhooks/{id}/test", tag: "Webhooks", access: "access:manage" },
    summary: "Send it something to try it with",
    params: webhooks.webhookParams,
    answer: made(webhooks.delivery),
  },
  listDeliveries: {
    ...{ method: "GET", path: "/v1/webhooks/{id}/deliveries", tag: "Webhooks", access: "access:manage" },
    summary: "What it was sent and what came of it, newest first",
    description: "Kept for 30 days.",
    params: webhooks.webhookParams,
    query: webhooks.deliveryQuery,
    answer: json(webhooks.deliveryPage),
  },
  retryDelivery: {
    ...{ method: "POST", path: "/v1/deliveries/{id}/retry", tag: "Webhooks", access: "access:manage" },
    summary: "Send something again, whatever came of it",
    params: webhooks.deliveryParams,
    answer: json(webhooks.delivery),
  },

  // Access
  logIn: {
    ...{ method: "POST", path: "/v1/session", tag: "Access", access: "public" },
    summary: "Log in from a browser; sets a session cookie",
    body: access.loginBody,
    cookie: true,
    answer: json(access.principal),
    problems: ["LOGIN_REFUSED"],
  },
  getSession: {
    ...{ method: "GET", path: "/v1/session", tag: "Access", access: "anybody" },
    summary: "Who I am and what I may do",
    answer: json(access.principal),
  },
  logOut: {
    ...{ method: "DELETE", path: "/v1/session", tag: "Access", access: "anybody" },
    summary: "End the session",
    cookie: true,
    answer: none,
  },
  changePassword: {
    ...{ method: "POST", path: "/v1/session/password", tag: "Access", access: "anybody" },
    summary: "Change one's own password; ends the user's other sessions",
    body: access.passwordChange,
    answer: none,
    problems: ["FORBIDDEN", "NO_PASSWORD"],
  },
  listUsers: {
    ...{ method: "GET", path: "/v1/users", tag: "Access", access: "access:manage" },
    summary: "Users of the tenant",
    query: listQuery,
    answer: json(access.userList),
  },
  createUser: {
    ...{ method: "POST", path: "/v1/users", tag: "Access", access: "access:manage" },
    summary: "Add a user who logs in with a password",
    body: access.newUser,
    answer: made(access.user),
    problems: ["NAME_TAKEN"],
  },
  updateUser: {
    ...{ method: "PATCH", path: "/v1/users/{id}", tag: "Access", access: "access:manage" },
    summary: "Change roles or password, or shut a user out; ends their sessions",
    params: access.accessParams,
    body: access.userChange,
    answer: json(access.user),
    problems: ["LAST_OWNER", "LAST_OPS"],
  },
  deleteUser: {
    ...{ method: "DELETE", path: "/v1/users/{id}", tag: "Access", access: "access:manage" },
    summary: "Remove a user",
    params: access.accessParams,
    answer: none,
    problems: ["LAST_OWNER", "LAST_OPS"],
  },
  listKeys: {
    ...{ method: "GET", path: "/v1/keys", tag: "Access", access: "access:manage" },
    summary: "Keys of the tenant, without their secrets",
    query: listQuery,
    answer: json(access.keyList),
  },
  createKey: {
    ...{ method: "POST", path: "/v1/keys", tag: "Access", access: "access:manage" },
    summary: "Make a key; its secret is shown in this answer and never again",
    body: access.newKey,
    answer: made(access.madeKey),
  },
  revokeKey: {
    ...{ method: "DELETE", path: "/v1/keys/{id}", tag: "Access", access: "access:manage" },
    summary: "Revoke a key, at once",
    params: access.accessParams,
    answer: none,
    problems: ["LAST_OWNER", "LAST_OPS"],
  },
  listAudit: {
    ...{ method: "GET", path: "/v1/audit", tag: "Access", access: "audit:read" },
    summary: "Who changed what, newest first",
    query: access.auditQuery,
    answer: json(access.auditPage),
  },
  listTenants: {
    ...{ method: "GET", path: "/v1/tenants", tag: "Access", access: "ops:read" },
    summary: "Tenants of the installation",
    query: listQuery,
    answer: json(access.tenantList),
  },
  createTenant: {
    ...{ method: "POST", path: "/v1/tenants", tag: "Access", access: "ops:write" },
    summary: "Add a tenant, with a key for its first owner",
    body: access.newTenant,
    answer: made(access.madeTenant),
    problems: ["NAME_TAKEN"],
  },
} as const satisfies Record<string, Route>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;
