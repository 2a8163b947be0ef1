export { doubling, mayPass, type Patience, patiently, type SoFar } from "./patiently.ts";
