declare module "@20minutes/s3rver" {
  import type { AddressInfo } from "node:net";

  // biome-ignore lint/style/noDefaultExport: as the package has it.
  export default class S3rver {
    constructor(options: {
      readonly port: number;
      readonly address: string;
      readonly silent: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string; readonly configs: readonly string[] }[];
    });
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
