export {
  EmbeddedPostgresError,
  type EmbeddedPostgresErrorCode,
  embeddedPostgresErrorCodes,
} from "./embedded-postgres-error.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
  stopEmbeddedPostgres,
} from "./start-embedded-postgres.ts";
