import { join } from "node:path";

/** Settings of the user who runs the tests are neither read nor changed: walls that were accepted, folders that were trusted. */
export const ownSettings = { XDG_CONFIG_HOME: join(import.meta.dirname, "../../.cache/settings") };
