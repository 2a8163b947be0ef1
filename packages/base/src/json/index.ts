export { isRecord } from "./is-record.ts";
export { jsonExcess } from "./json-excess.ts";
