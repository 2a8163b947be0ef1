// Runs in the thread that find-similar-pairs.ts starts.
import { answerThreadCalls } from "@markmill/thread";
import { similarPairs } from "./similar-pairs.ts";

answerThreadCalls({ similarPairs });
