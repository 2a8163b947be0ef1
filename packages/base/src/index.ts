export { doubling, mayPass, type Patience, patiently } from "./retry/patiently.ts";
