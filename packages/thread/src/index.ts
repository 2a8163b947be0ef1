export { startThread } from "./start-thread.ts";
