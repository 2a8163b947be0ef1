import { describe } from "vitest";
import { killDuringSessionTools } from "./kill-session-tools.ts";

describe("kill -9 during tools in a session without a sandbox", () => killDuringSessionTools("none"));
