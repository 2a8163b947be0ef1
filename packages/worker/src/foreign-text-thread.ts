// The thread of foreign-text.ts.
import { answerThreadCalls } from "@markmill/thread";
import { foreignTextFunctions } from "./foreign-text-functions.ts";

answerThreadCalls(foreignTextFunctions);
