// Runs in the thread that find-similar-pairs.ts starts.
import { answerThreadCalls } from "@markmill/base";
import { similarPairs } from "./similar-pairs.ts";

answerThreadCalls({ similarPairs });
