// The thread of load-student-pdf.ts.
import { answerThreadCalls } from "@markmill/thread";
import { studentPdf } from "./student-pdf.ts";

answerThreadCalls({ studentPdf });
