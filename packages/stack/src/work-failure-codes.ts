/** Codes that a failed activity can have because of what its worker found, its sandbox or its tools. For processes that perform nothing. */
import { sandboxErrorCodes } from "@markmill/sandbox/codes";
import { toolFailureCodes } from "@markmill/tools/codes";
import { workerFailureCodes } from "@markmill/worker/codes";

export const workFailureCodes: Readonly<Record<string, { readonly means: string; readonly fix: string }>> = {
  ...sandboxErrorCodes,
  ...toolFailureCodes,
  ...workerFailureCodes,
};
