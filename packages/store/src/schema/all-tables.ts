/**
 * The whole schema, for the tools that compare it with a database. Importing it also imports drizzle, which is slow.
 */
import * as accessTables from "./access.ts";
import * as activitiesTables from "./activities.ts";
import * as batchesTables from "./batches.ts";
import * as conversationsTables from "./conversations.ts";
import * as resourcesTables from "./resources.ts";
import * as runsTables from "./runs.ts";
import * as webhooksTables from "./webhooks.ts";

export const schema = {
  ...runsTables,
  ...activitiesTables,
  ...conversationsTables,
  ...resourcesTables,
  ...accessTables,
  ...batchesTables,
  ...webhooksTables,
};
