export { apiRole } from "./api-role.ts";
export { type Board, createBoard } from "./board/board.ts";
export { type Api, createApi } from "./create-api.ts";
export { type ApiParts, type ApiSettings, defaultSettings } from "./parts.ts";
export { serveApi } from "./serve-api.ts";
