// The thread of find-similar-pairs.ts.
import { answerThreadCalls } from "@markmill/base";
import { similarPairs } from "./similar-pairs.ts";

answerThreadCalls({ similarPairs });
