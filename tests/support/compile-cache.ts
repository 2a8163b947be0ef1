import { join } from "node:path";

/** Given to processes of ours that tests start by the hundred: each would compile the same modules again. */
export const compileCache = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../.cache/compile") };
