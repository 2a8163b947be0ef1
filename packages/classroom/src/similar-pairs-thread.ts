// The thread of find-similar-pairs.ts.
import { answerThreadCalls } from "@markmill/thread";
import { similarPairs } from "./similar-pairs.ts";

answerThreadCalls({ similarPairs });
