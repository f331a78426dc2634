#!/usr/bin/env node
// rye:signed:2026-02-14T00:27:54Z:93b3bb53582d12dc1bd0f1cf6cf5d42addec189975fa676377fd74ac95028da8:ABVzlzBJA7V0tw7DY5832jtI2sRpkzjedVnRP5AkB2u2RopRwYNUJhjc5lNgNRL68XZLtC6kZgBCDR2x/E5eDg:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
export const __version__ = "1.0.0";
export const __tool_type__ = "script";
export const __executor_id__ = "rye/core/runtimes/node_runtime";
export const __tool_description__ = "Write a text backwards.";
export const CONFIG_SCHEMA = { type: "object", required: ["text"], properties: { text: { type: "string" } } };

import { readFileSync } from "node:fs";

const params = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ text: [...params.text].reverse().join("") }));
