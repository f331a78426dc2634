// Drives a server with a client of the TypeScript SDK and prints what it saw
// as JSON. Called as
//
//	node client.mjs v1|v2 stdio COMMAND ARG…
//	node client.mjs v1|v2 http URL
//
// v1 speaks the revisions with a handshake, v2 probes for the newer one.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [version, kind, ...rest] = process.argv.slice(2);
const require = createRequire(process.env.RYE_NPM + "/package.json");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

async function parts() {
  if (version === "v1") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return { Client, StdioClientTransport, StreamableHTTPClientTransport };
  }
  const all = await load("@modelcontextprotocol/client");
  return { ...all, ...(await load("@modelcontextprotocol/client/stdio")) };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await parts();
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: { ...process.env }, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(rest[0]));
await client.connect(transport);

const call = (args, options) =>
  version === "v1" ? client.callTool({ name: "execute", arguments: args }, undefined, options) : client.callTool({ name: "execute", arguments: args }, options);
const envelope = (res) => JSON.parse(res.content[0].text);

const progress = [];
const hello = await call({ item_type: "tool", item_id: "demo/hello" }, { onprogress: (p) => progress.push(p.progress) });
const absent = await call({ item_type: "tool", item_id: "demo/absent" });

// A call that is given up: the client must not be answered, and can go on.
const abort = new AbortController();
const slow = call({ item_type: "tool", item_id: "demo/slow" }, { signal: abort.signal, onprogress: () => abort.abort() });
const cancelled = await slow.then(() => "answered", () => "cancelled");
const after = await call({ item_type: "tool", item_id: "demo/hello" });

const { prompts } = await client.listPrompts();
const { resources } = await client.listResources();
const read = await client.readResource({ uri: resources[0].uri });
const tools = (await client.listTools()).tools.map((t) => t.name);
console.log(JSON.stringify({
  era: version === "v1" ? "with a handshake" : client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion().name,
  instructions: client.getInstructions().length > 100,
  tools, cancelled, progress: progress.length > 0,
  hello: envelope(hello).success, absent: envelope(absent).error.code, failed: absent.isError, after: envelope(after).success,
  prompts: prompts.length > 0, resources: resources.length > 0, read: read.contents[0].text.length > 0,
}));
await client.close();
