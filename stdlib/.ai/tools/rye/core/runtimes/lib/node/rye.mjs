// rye:signed:2026-11-20T00:00:00Z:311d1463e82007ba8978e094d7bd65b1d384e98dae32bd875348a91a5159a2c3:Vt4S3hSmL39J2TmzcHwhfLishEVbI++7kdy2w5GBYr6idqgEU61x4Aplll4x1bmQTw2Bwr4DA0scD2Bt6Ue2BQ:a1ae3899d5f9ee5766f556e5033d2ceedd334eb3e192c9506528618b728f96a4
// Calls rye from a tool whose item has sandbox: {broker: true} and calls: [...].
//
//     import { execute, search, load } from "rye";
//     const { content } = await execute("rye/file-system/read", { file_path: "README.md" });
//
// Each function resolves to the data of the result, or rejects with a RyeError. Calls may
// overlap. A call has the permissions of the tool's caller and what the item lists in
// calls, whichever is less.

import { Socket } from "node:net";

const REVISION = "2026-07-28";

/** A call that failed, with its code and details. */
export class RyeError extends Error {
  constructor(code, message, details) {
    super(`${code}: ${message}`);
    this.name = "RyeError";
    this.code = code;
    this.details = details ?? {};
  }
}

let socket;
let last = 0;
let parts = []; // of a line whose end has not arrived
const waiting = new Map();

function connected() {
  if (socket) return socket;
  const fd = process.env.RYE_BROKER_FD;
  if (fd === undefined) {
    throw new RyeError("PERMISSION_DENIED", "this tool has no broker: its item needs sandbox: {broker: true} and calls: [...]");
  }
  socket = new Socket({ fd: Number(fd), readable: true, writable: true });
  socket.on("data", receive);
  socket.on("error", closed);
  socket.on("close", closed);
  return socket;
}

function receive(chunk) {
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
    parts.push(chunk.subarray(0, end));
    chunk = chunk.subarray(end + 1);
    const message = JSON.parse(Buffer.concat(parts).toString());
    parts = [];
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    call?.resolve(message);
  }
  if (chunk.length > 0) parts.push(chunk);
  if (waiting.size === 0) socket.unref(); // an idle connection does not keep the program alive
}

function closed() {
  for (const call of waiting.values()) call.reject(new RyeError("CANCELLED", "rye has closed the connection"));
  waiting.clear();
}

function ask(method, params) {
  const channel = connected();
  if (channel.destroyed) throw new RyeError("CANCELLED", "rye has closed the connection");
  const id = ++last;
  params._meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": { name: "rye.mjs", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    channel.ref();
    channel.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
  });
}

/** Call a verb with arguments as rye serve lists them. */
export async function call(verb, args) {
  const message = await ask("tools/call", { name: verb, arguments: args });
  if (message.error) throw new RyeError("USAGE", message.error.message, message.error.data);
  const reply = JSON.parse(message.result.content[0].text);
  if (!reply.success) throw new RyeError(reply.error?.code ?? "INTERNAL", reply.error?.message ?? "", reply.error?.details);
  return reply.data;
}

function named(item, kind) {
  const at = item.indexOf(":");
  return at < 0 ? { item_type: kind, item_id: item } : { item_type: item.slice(0, at), item_id: item.slice(at + 1) };
}

/** Execute an item: "acme/tool", or "directive:acme/task". */
export const execute = (item, parameters = {}) => call("execute", { ...named(item, "tool"), parameters });

/** Search items; options are those of the verb, such as scope and limit. */
export const search = (query, options = {}) => call("search", { ...options, query });

/** Load an item for reading. */
export const load = (item, options = {}) => call("load", { ...options, ...named(item, "tool") });

/** Sign a draft with the agent's key. */
export const sign = (item, options = {}) => call("sign", { ...options, ...named(item, "tool") });
