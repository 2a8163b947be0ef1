export { apiRole } from "./api-role.ts";
export { type Board, createBoard } from "./board/board.ts";
export { type Api, createApi, type RouteFacts } from "./create-api.ts";
export { type ApiParts, type ApiSettings, type Bell, defaultSettings } from "./parts.ts";
export { type Served, serveApi } from "./serve-api.ts";
