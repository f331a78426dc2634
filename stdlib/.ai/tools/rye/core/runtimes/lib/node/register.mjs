// rye:signed:2026-11-20T00:00:00Z:4ce730851187e99514fb521efd32e515cc74b7fd9585b74c63b48aa682835322:q3NVgblr3BMwDj1RjV+pPLj2cpjkXOjgkNTCeY0IcVkCbgiHneQgPBkQXTdFCPykKNozIFbgvw/foPBzBMSuDg:a1ae3899d5f9ee5766f556e5033d2ceedd334eb3e192c9506528618b728f96a4
// Lets a tool that has the broker import "rye": the module is rye.mjs next to this file.

import * as modules from "node:module";

const rye = new URL("rye.mjs", import.meta.url).href;

if (modules.registerHooks) {
  modules.registerHooks({
    resolve: (name, context, next) => (name === "rye" ? { url: rye, shortCircuit: true } : next(name, context)),
  });
} else {
  // Older versions run hooks in a thread of their own, from a module.
  const hooks = `export const resolve = (name, context, next) =>
    name === "rye" ? { url: ${JSON.stringify(rye)}, shortCircuit: true } : next(name, context);`;
  modules.register("data:text/javascript," + encodeURIComponent(hooks));
}
