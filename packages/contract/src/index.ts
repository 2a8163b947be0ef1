export { type CallOptions, type Client, type ClientOptions, createClient } from "./client.ts";
export { fileName } from "./file-schemas.ts";
export type { Follow, FollowOptions, RunEvent, StreamEnd } from "./follow-events.ts";
export { openapiDocument } from "./openapi.ts";
export {
  makeProblem,
  type Problem,
  type ProblemCode,
  type ProblemError,
  type ProblemFacts,
  problemCodes,
} from "./problem.ts";
export { ApiProblem, clientProblemCodes } from "./problem-error.ts";
export { effectiveScopes, type Role, roles, type Scope, scopes } from "./roles-and-scopes.ts";
export type { Answer, Asked, Asking, Got, Route } from "./route.ts";
export { type RouteName, type Routes, routes } from "./routes.ts";
