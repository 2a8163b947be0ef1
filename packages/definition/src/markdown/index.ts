export { BlockScanner } from "./block-scanner.ts";
