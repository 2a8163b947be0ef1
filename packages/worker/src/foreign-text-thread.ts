// The thread of foreign-text.ts.
import { answerThreadCalls } from "@markmill/base";
import { foreignTextFunctions } from "./foreign-text-functions.ts";

answerThreadCalls(foreignTextFunctions);
