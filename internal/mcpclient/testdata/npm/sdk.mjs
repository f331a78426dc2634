// A server of the TypeScript SDK whose schemas come from one version of zod. It is
// called as: node sdk.mjs DIRECTORY ZOD, with a directory whose packages include
// the SDK and the named package of zod.
//
// JavaScript has no integers beyond 2^53 and the SDK sends no unknown block of
// content, so the transport writes both: "#123#" as the number 123, and a text
// block <video> as a block of the type video.
import { createRequire } from "node:module";

const [directory, zod] = process.argv.slice(2);
const packages = createRequire(directory + "/");
const { McpServer } = packages("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = packages("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = packages(zod);

const server = new McpServer({ name: "sdk", version: "1.0.0" });
const text = (text) => ({ type: "text", text });

server.registerTool("invite", { description: "Invite somebody.", inputSchema: { email: z.string().email(), n: z.number().int().min(1) } },
  async ({ email, n }) => ({ content: [text(`invited ${email} ${n} times`)] }));

// given answers with the digits that arrived, before JSON.parse rounds them.
let line = "";
process.stdin.on("data", (chunk) => { line = String(chunk); });
server.registerTool("given", { description: "Return n as it was sent.", inputSchema: { n: z.number() } },
  async () => ({ content: [text("n is " + line.match(/"n":\s*([0-9.eE+-]+)/)[1])] }));

server.registerTool("hash", { description: "Return large integers.", outputSchema: { id: z.any(), big: z.any() } },
  async () => ({ content: [text("two numbers")], structuredContent: { id: "#9007199254740993#", big: "#18446744073709551617#" } }));

server.registerTool("shot", { description: "Return a block of each type." }, async () => ({
  content: [
    text("look"),
    { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
    { type: "resource_link", uri: "file:///log", name: "log" },
    { type: "resource", resource: { uri: "file:///a.txt", text: "the text" } },
    text("<video>"),
  ],
}));

const transport = new StdioServerTransport();
transport.send = async (message) => {
  const sent = JSON.stringify(message)
    .replace(/"#(\d+)#"/g, "$1")
    .replace('{"type":"text","text":"<video>"}', '{"type":"video","frames":3}');
  process.stdout.write(sent + "\n");
};
await server.connect(transport);
