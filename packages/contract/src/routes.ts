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
    summary: "Validate a workflow with all its files, without storing it",
    body: definitions.definitionUpload,
    answer: json(definitions.definitionCheck),
  },
  saveDefinition: {
    ...{ method: "POST", path: "/v1/definitions", tag: "Definitions", access: "definitions:write" },
    summary: "Upload a workflow with all its files",
    description:
      "A definition never changes under its hash. The same files return the same definition (200 instead of 201).",
    body: definitions.definitionUpload,
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: definitions.savedDefinition },
    problems: ["DEFINITION_INVALID"],
  },
  listDefinitions: {
    ...{ method: "GET", path: "/v1/definitions", tag: "Definitions", access: "definitions:read" },
    summary: "List the latest definition of each name",
    query: definitions.definitionQuery,
    answer: json(definitions.definitionPage),
  },
  getDefinition: {
    ...{ method: "GET", path: "/v1/definitions/{hash}", tag: "Definitions", access: "definitions:read" },
    summary: "Get a definition",
    params: definitions.definitionParams,
    answer: json(definitions.definitionDetail),
  },
  listDefinitionVersions: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/versions", tag: "Definitions", access: "definitions:read" },
    summary: "List definitions with the same name, latest first",
    params: definitions.definitionParams,
    query: listQuery,
    answer: json(definitions.versionList),
  },
  getDefinitionSource: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/source", tag: "Definitions", access: "definitions:read" },
    summary: "Get the uploaded files of a definition",
    params: definitions.definitionParams,
    query: definitions.sourceQuery,
    answer: json(definitions.definitionSource),
  },
  getDefinitionProgram: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/program", tag: "Definitions", access: "definitions:read" },
    summary: "Get the compiled program of a workflow file",
    params: definitions.definitionParams,
    query: definitions.programQuery,
    answer: json(definitions.compiledProgram),
  },
  getDefinitionMermaid: {
    ...{ method: "GET", path: "/v1/definitions/{hash}/mermaid", tag: "Definitions", access: "definitions:read" },
    summary: "Get the flowchart as Mermaid text",
    params: definitions.definitionParams,
    query: definitions.programQuery,
    answer: { kind: "text", status: 200, type: "text/plain; charset=utf-8" },
  },

  // Runs
  startRun: {
    ...{ method: "POST", path: "/v1/runs", tag: "Runs", access: "runs:write" },
    summary: "Start a run",
    description:
      "The server answers when the run is stored; workers then continue it. With an Idempotency-Key, a repeated request returns the same run (200).",
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
    summary: "Get a run: its status, current activities and cost",
    answer: json(runs.run),
  },
  listActivities: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/activities", access: "runs:read" },
    summary: "List the activities of a run in the order in which they ended, open ones last",
    query: runs.pageQuery,
    answer: json(runs.activityPage),
  },
  listCalls: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/calls", access: "runs:read" },
    summary: "List model calls with requests and replies",
    query: runs.pageQuery,
    answer: json(runs.callPage),
  },
  listToolCalls: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/tool-calls", access: "runs:read" },
    summary: "List tool calls with arguments and results",
    query: runs.pageQuery,
    answer: json(runs.toolCallPage),
  },
  listMessages: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/messages", access: "runs:read" },
    summary: "List the messages of the run's conversations",
    query: runs.pageQuery,
    answer: json(runs.messagePage),
  },
  getVariables: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/variables", access: "runs:read" },
    summary: "List the current variables of a run",
    answer: json(runs.variablesOfRun),
  },
  getHits: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/hits", access: "runs:read" },
    summary: "Get the number of visits of each node",
    answer: json(runs.hitsOfRun),
  },
  listChildRuns: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/children", access: "runs:read" },
    summary: "List the runs that a run called",
    query: listQuery,
    answer: json(runs.childPage),
  },
  listEvents: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/events", tag: "Events", access: "runs:read" },
    summary: "List the events of a run, and optionally wait for new events",
    query: runs.eventQuery,
    answer: json(runs.eventPage),
  },
  streamEvents: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/stream", tag: "Events", access: "runs:read" },
    summary: "Stream the events of a run as server-sent events",
    description:
      "The stream sends every event once and in order. After a broken connection, the client sends Last-Event-ID and misses no event. An event named `ask`, without an id, reports an open question of this run or of a run it called. It is sent again after a broken connection while the question is open. The last event is named `end`. A request with the id of `end` is answered with 204, so that a browser stops.",
    query: runs.streamQuery,
    headers: runs.streamHeaders,
    answer: { kind: "events", status: 200, schema: runEvent, end: runs.streamEnd, others: { ask: runs.ask } },
  },
  replayRun: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/replay", tag: "Events", access: "runs:read" },
    summary: "Replay the events of a run and compare the result with the stored state",
    description:
      "The server replays the events with the values of the run's environment and never returns these values. It calls no model, runs no command and changes nothing.",
    answer: json(runs.replay),
  },
  getSubmission: {
    ...aRun,
    ...{ method: "GET", path: "/v1/runs/{id}/submission", tag: "Files", access: "files:read" },
    summary: "Get the submission as a tar archive",
    answer: { kind: "bytes", status: 200, type: "application/x-tar" },
  },
  cancelRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/cancel", access: "runs:write" },
    summary: "Cancel a run and the runs it called",
    body: runs.cancelBody.optional(),
    answer: json(runs.changedRun),
    problems: ["RUN_ENDED"],
  },
  stopRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/stop", access: "runs:write" },
    summary: "Stop a run, so that it can be resumed",
    answer: json(runs.changedRun),
    problems: ["RUN_ENDED", "RUN_UNCHANGED", "RUN_NOT_ROOT"],
  },
  resumeRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/resume", access: "runs:write" },
    summary: "Resume a run that was stopped or that waits for an endpoint",
    answer: json(runs.resumedRun),
    problems: ["RUN_ENDED", "RUN_UNCHANGED"],
  },
  retryRun: {
    ...aRun,
    ...{ method: "POST", path: "/v1/runs/{id}/retry", access: "runs:write" },
    summary: "Retry a run from one of its nodes, as a new run",
    headers: runs.idempotencyHeaders,
    body: runs.retryBody.optional(),
    location: true,
    answer: { kind: "json", status: 201, also: 200, schema: runs.retriedRun },
    problems: ["RUN_OPEN", "RUN_NOT_ROOT", "RUN_OF_CLASS", "NO_FORK", "START_REFUSED", "IDEMPOTENCY_KEY_REUSED"],
  },
  deleteRun: {
    ...aRun,
    ...{ method: "DELETE", path: "/v1/runs/{id}", access: "runs:delete" },
    summary: "Delete an ended run, the runs it called, and their data",
    answer: none,
    problems: ["RUN_OPEN", "RUN_NOT_ROOT"],
  },

  // Batches
  saveBatch: {
    ...{ method: "POST", path: "/v1/batches", tag: "Batches", access: "batches:write" },
    summary: "Save a class: its students and their submissions",
    description:
      "The request is idempotent: a batch is identified by its key, a submission by its key and content. Changed content is graded again; nothing is deleted. A large class can be saved in several requests. Submissions start as the concurrency allows. A changed rubric that voids points, marks or releases is refused with 409 RUBRIC_VOIDS, which lists them for each criterion. To save it, send `confirm` of this problem as `confirmedVoids`.",
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
    summary: "Get a batch: the state of its submissions, its cost, and the problems it waits for",
    answer: json(batches.batch),
  },
  streamBatch: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/stream", access: "batches:read" },
    summary: "Stream the state of a batch as server-sent events",
    description:
      "Each event contains the whole state of the batch and is sent when the state changes. After a broken connection, the client gets the current state. The last event is named `end`: every submission has ended, or the batch is cancelled and its last run has ended. A request with the id of `end` is answered with 204, so that a browser stops.",
    headers: batches.batchStreamHeaders,
    answer: { kind: "events", status: 200, schema: batches.batchSummary, end: batches.batchSummary },
  },
  updateBatch: {
    ...aBatch,
    ...{ method: "PATCH", path: "/v1/batches/{id}", access: "batches:write" },
    summary: "Change the concurrency, the budget or the model of a batch",
    body: batches.batchChange,
    answer: json(batches.changedBatch),
    problems: ["BATCH_REFUSED"],
  },
  deleteBatch: {
    ...aBatch,
    ...{ method: "DELETE", path: "/v1/batches/{id}", access: "runs:delete" },
    summary: "Delete a batch with its students, submissions, runs and grade events",
    answer: none,
    problems: ["RUN_OPEN"],
  },
  listWorks: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/works", access: "batches:read" },
    summary: "List submissions by key, with their states and grades",
    description:
      "Without the scope members:read, submissions have pseudonyms as keys, and grades contain only numbers, so that no student can be identified.",
    query: batches.workQuery,
    answer: json(batches.workPage),
  },
  listTries: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/tries", access: "members:read" },
    summary: "List the grading attempts of a submission, oldest first, each with its grade",
    query: batches.tryQuery,
    answer: json(batches.tryList),
  },
  listMembers: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/members", access: "members:read" },
    summary: "List the students of a batch with their pseudonyms",
    query: batches.memberQuery,
    answer: json(batches.memberPage),
  },
  listGradeEvents: {
    ...aBatch,
    ...{ method: "GET", path: "/v1/batches/{id}/grades", access: "members:read" },
    summary: "List the grade events by people, oldest first",
    query: batches.gradeQuery,
    answer: json(batches.gradePage),
  },
  recordGrade: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/grades", access: "grades:write" },
    summary: "Override a criterion, confirm a review, or release or withdraw a grade",
    description:
      "An override without points (null) takes back one mark: the named mark, or your own last mark of that criterion. To replace or take back a mark of another person, send the submission's `etag` as If-Match. Without it the answer is 428; if the grade has changed, the answer is 412. The answer contains the submission's new ETag. A repeated request with the same Idempotency-Key gets the same answer and adds nothing. While the batch is being deleted, the answer is 409.",
    headers: batches.gradeHeaders,
    body: batches.gradeBody,
    etag: true,
    answer: made(batches.gradeEvent),
    problems: ["GRADE_INVALID", "GRADE_REFUSED", "GRADE_CHANGED", "GRADE_UNSEEN", "IDEMPOTENCY_KEY_REUSED"],
  },
  pauseBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/pause", access: "batches:write" },
    summary: "Pause a batch: start no new submissions; running submissions continue to their end",
    body: batches.reasonBody,
    answer: json(batches.changedBatch),
  },
  resumeBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/resume", access: "batches:write" },
    summary: "Resume a batch and its waiting runs",
    answer: json(batches.changedBatch),
  },
  cancelBatch: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/cancel", access: "batches:write" },
    summary: "Cancel a batch: stop its open runs and start no new ones; grades are kept",
    body: batches.reasonBody,
    answer: json(batches.changedBatch),
  },
  retryWorks: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/retry", access: "batches:write" },
    summary: "Retry failed submissions; submissions with grades are not repeated",
    body: batches.retryWorksBody.optional(),
    answer: json(batches.retriedWorks),
  },
  regradeWorks: {
    ...aBatch,
    ...{ method: "POST", path: "/v1/batches/{id}/regrade", access: "batches:write" },
    summary: "Grade submissions again, with the same or another definition; earlier grading attempts are kept",
    body: batches.regradeBody,
    answer: json(batches.retriedWorks),
    problems: ["START_REFUSED"],
  },

  // Asks
  listAsks: {
    ...{ method: "GET", path: "/v1/asks", tag: "Asks", access: "runs:read" },
    summary: "List open questions, oldest first",
    query: runs.askQuery,
    answer: json(runs.askList),
  },
  answerAsk: {
    ...{ method: "POST", path: "/v1/asks/{id}/answer", tag: "Asks", access: "asks:answer" },
    summary: "Answer a question",
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
      "The body contains the bytes (application/octet-stream), or a form with exactly one file (multipart/form-data). A file that no run uses is deleted later.",
    upload: true,
    location: true,
    answer: made(files.storedFile),
  },
  downloadFile: {
    ...{ method: "GET", path: "/v1/files/{hash}", tag: "Files", access: "files:read" },
    summary: "Get stored bytes",
    params: files.fileParams,
    answer: { kind: "bytes", status: 200, type: "application/octet-stream" },
  },
  uploadSubmission: {
    ...{ method: "POST", path: "/v1/submissions", tag: "Files", access: "files:write" },
    summary: "Upload a submission for a run: an archive or a single file",
    description:
      "The body contains the bytes (application/octet-stream), or a form with exactly one file (multipart/form-data), as `curl -F file=@answer.py` sends it.",
    query: files.submissionQuery,
    upload: true,
    answer: made(files.storedSubmission),
    problems: ["SUBMISSION_REFUSED"],
  },

  // Memory
  listMemoryScopes: {
    ...{ method: "GET", path: "/v1/scopes", tag: "Memory", access: "runs:read" },
    summary: "List named memory scopes",
    description: "The private passages of a run are not listed. They are deleted with the run.",
    query: runs.pageQuery,
    answer: json(memory.scopePage),
  },
  listPassages: {
    ...{ method: "GET", path: "/v1/scopes/{name}/passages", tag: "Memory", access: "runs:read" },
    summary: "List the passages of a scope in the order of insertion",
    params: memory.scopeParams,
    query: runs.pageQuery,
    answer: json(memory.passagePage),
  },
  deleteMemoryScope: {
    ...{ method: "DELETE", path: "/v1/scopes/{name}", tag: "Memory", access: "runs:delete" },
    summary: "Delete the passages of a scope; passages inserted during the request are kept",
    params: memory.scopeParams,
    answer: none,
  },

  // Models, usage
  listModels: {
    ...{ method: "GET", path: "/v1/models", tag: "Models and cost", access: "models:read" },
    summary: "List models, their prices, and paused models",
    query: listQuery,
    answer: json(operations.modelList),
  },
  getUsage: {
    ...{ method: "GET", path: "/v1/usage", tag: "Models and cost", access: "usage:read" },
    summary: "Get the cost by run, definition, model, label or day",
    query: operations.usageQuery,
    answer: json(operations.usage),
  },

  // Operation
  listWorkers: {
    ...{ method: "GET", path: "/v1/workers", tag: "Operation", access: "ops:read" },
    summary: "List workers by their heartbeat",
    query: listQuery,
    answer: json(operations.workerList),
  },
  listQueues: {
    ...{ method: "GET", path: "/v1/queues", tag: "Operation", access: "ops:read" },
    summary: "Get the number of jobs in each queue, by state",
    query: listQuery,
    answer: json(operations.queueList),
  },
  getMetrics: {
    ...{ method: "GET", path: "/metrics", tag: "Operation", access: "ops:read" },
    summary: "Get metrics for Prometheus",
    answer: { kind: "text", status: 200, type: "text/plain; version=0.0.4; charset=utf-8" },
  },
  getLive: {
    ...{ method: "GET", path: "/health/live", tag: "Operation", access: "public" },
    summary: "Check that the process answers",
    answer: json(operations.health),
  },
  getReady: {
    ...{ method: "GET", path: "/health/ready", tag: "Operation", access: "public" },
    summary:
      "Check that the process can serve requests: the database answers. The answer also reports the queue, the workers and the sandbox",
    answer: { kind: "json", status: 200, also: 503, schema: operations.health },
  },
  getOpenapi: {
    ...{ method: "GET", path: "/openapi.json", tag: "Operation", access: "public" },
    summary: "Get this OpenAPI document",
    answer: { kind: "text", status: 200, type: "application/json; charset=utf-8" },
  },
  getDocs: {
    ...{ method: "GET", path: "/docs", tag: "Operation", access: "public" },
    summary: "Read this document as a web page",
    answer: { kind: "text", status: 200, type: "text/html; charset=utf-8" },
  },

  // Webhooks
  createWebhook: {
    ...{ method: "POST", path: "/v1/webhooks", tag: "Webhooks", access: "access:manage" },
    summary: "Create a webhook for ended runs and batches, open questions and released grades",
    description:
      "The server sends each event by POST as JSON (`type`, `timestamp`, `data`), signed according to the Standard Webhooks specification. Events are sent at least once and in any order; a repeated event has the same `webhook-id`. A status from 200 to 299 confirms the delivery. Otherwise the server retries ten times over two days; 410 stops the retries.",
    body: webhooks.newWebhook,
    answer: made(webhooks.madeWebhook),
  },
  listWebhooks: {
    ...{ method: "GET", path: "/v1/webhooks", tag: "Webhooks", access: "access:manage" },
    summary: "List the webhooks of the tenant, without their secrets",
    query: listQuery,
    answer: json(webhooks.webhookList),
  },
  updateWebhook: {
    ...{ method: "PATCH", path: "/v1/webhooks/{id}", tag: "Webhooks", access: "access:manage" },
    summary: "Change the address or the events of a webhook, or disable it",
    params: webhooks.webhookParams,
    body: webhooks.webhookChange,
    answer: json(webhooks.changedWebhook),
  },
  deleteWebhook: {
    ...{ method: "DELETE", path: "/v1/webhooks/{id}", tag: "Webhooks", access: "access:manage" },
    summary: "Delete a webhook and its delivery log",
    params: webhooks.webhookParams,
    answer: none,
  },
  testWebhook: {
    ...{ method: "POST", path: "/v1/webhooks/{id}/test", tag: "Webhooks", access: "access:manage" },
    summary: "Send a test event to a webhook",
    params: webhooks.webhookParams,
    answer: made(webhooks.delivery),
  },
  listDeliveries: {
    ...{ method: "GET", path: "/v1/webhooks/{id}/deliveries", tag: "Webhooks", access: "access:manage" },
    summary: "List deliveries with their results, newest first",
    description: "Deliveries are kept for 30 days.",
    params: webhooks.webhookParams,
    query: webhooks.deliveryQuery,
    answer: json(webhooks.deliveryPage),
  },
  retryDelivery: {
    ...{ method: "POST", path: "/v1/deliveries/{id}/retry", tag: "Webhooks", access: "access:manage" },
    summary: "Send a delivery again",
    params: webhooks.deliveryParams,
    answer: json(webhooks.delivery),
  },

  // Access
  logIn: {
    ...{ method: "POST", path: "/v1/session", tag: "Access", access: "public" },
    summary: "Log in from a browser and set a session cookie",
    body: access.loginBody,
    cookie: true,
    answer: json(access.principal),
    problems: ["LOGIN_REFUSED"],
  },
  getSession: {
    ...{ method: "GET", path: "/v1/session", tag: "Access", access: "anybody" },
    summary: "Get your own account, roles and scopes",
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
    summary: "Change your own password and end your other sessions",
    body: access.passwordChange,
    answer: none,
    problems: ["FORBIDDEN", "NO_PASSWORD"],
  },
  listUsers: {
    ...{ method: "GET", path: "/v1/users", tag: "Access", access: "access:manage" },
    summary: "List the users of the tenant",
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
    summary: "Change the roles or password of a user, or disable the user; this ends the user's sessions",
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
    summary: "List the keys of the tenant, without their secrets",
    query: listQuery,
    answer: json(access.keyList),
  },
  createKey: {
    ...{ method: "POST", path: "/v1/keys", tag: "Access", access: "access:manage" },
    summary: "Create a key; only this answer contains its secret",
    body: access.newKey,
    answer: made(access.madeKey),
  },
  revokeKey: {
    ...{ method: "DELETE", path: "/v1/keys/{id}", tag: "Access", access: "access:manage" },
    summary: "Revoke a key immediately",
    params: access.accessParams,
    answer: none,
    problems: ["LAST_OWNER", "LAST_OPS"],
  },
  listAudit: {
    ...{ method: "GET", path: "/v1/audit", tag: "Access", access: "audit:read" },
    summary: "List the audit log, newest first",
    query: access.auditQuery,
    answer: json(access.auditPage),
  },
  listTenants: {
    ...{ method: "GET", path: "/v1/tenants", tag: "Access", access: "ops:read" },
    summary: "List the tenants of the installation",
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
