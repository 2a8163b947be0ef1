/** Lists the codes of failures that a worker, its sandbox or its tools can cause. For processes that perform no activities. */
import { sandboxErrorCodes } from "@markmill/sandbox/codes";
import { toolFailureCodes } from "@markmill/tools/codes";
import { workerFailureCodes } from "@markmill/worker/codes";

export const workFailureCodes: Readonly<Record<string, { readonly means: string; readonly fix: string }>> = {
  ...sandboxErrorCodes,
  ...toolFailureCodes,
  ...workerFailureCodes,
};
