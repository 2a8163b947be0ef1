export { doubling, mayPass, type Patience, patiently } from "./patiently.ts";
