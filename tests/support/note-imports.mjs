// Given to node with --import: writes down every module that is loaded, one address in a line, into the file that NOTE_IMPORTS names.
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

const file = process.env.NOTE_IMPORTS;
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (file !== undefined) appendFileSync(file, `${found.url}\n`);
    return found;
  },
});
