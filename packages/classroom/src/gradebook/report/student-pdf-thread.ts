// Runs in the thread that load-student-pdf.ts starts.
import { answerThreadCalls } from "@markmill/base";
import { studentPdf } from "./student-pdf.ts";

answerThreadCalls({ studentPdf });
