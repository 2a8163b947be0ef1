// The thread in which builtin-tool.ts reads pages.
import { answerThreadCalls } from "@markmill/base";
import { headingsAndParagraphs, searchResults } from "./html-text.ts";

answerThreadCalls({ headingsAndParagraphs, searchResults });
