export { BlockScanner, type Line } from "./block-scanner.ts";
