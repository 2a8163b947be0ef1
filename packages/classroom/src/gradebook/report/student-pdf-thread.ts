// The thread of load-student-pdf.ts.
import { answerThreadCalls } from "@markmill/base";
import { studentPdf } from "./student-pdf.ts";

answerThreadCalls({ studentPdf });
