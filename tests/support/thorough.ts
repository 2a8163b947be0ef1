declare module "vitest" {
  interface ProvidedContext {
    /**
     * `npm run test:soak`: random cases by the thousand, the longest texts, races repeated. Otherwise a test tries fewer of the same.
     */
    thorough: boolean;
  }
}

export const thorough = process.env.TEST_THOROUGH === "1";
