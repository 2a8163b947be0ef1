// Set-up of the project `work`: V8 counts blocks from here on. A function that was compiled before would not be counted.
import { beginCounting } from "./count-work.ts";

beginCounting();
