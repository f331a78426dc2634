// Sends requests of the official clients to a scripted server and prints what they read
// from its answers: one line of JSON each.
// Usage: node read.mjs DIALECT BASE_URL ANSWERS; the first request has the whole
// conversation below, the others a short one.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [dialect, base, answers] = process.argv.slice(2);
const require = createRequire(process.env.RYE_NPM_PROVIDER + "/package.json");
const loadAll = (name) => import(pathToFileURL(require.resolve(name)).href);
const load = async (name) => (await loadAll(name)).default;

const schemas = {
  list: { type: "object", properties: {} },
  read: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
};
const png = "iVBORw0KGgo=";

async function anthropic() {
  const Anthropic = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: base, apiKey: "sk-planted-secret-1", maxRetries: 0 });
  const mark = { cache_control: { type: "ephemeral" } };
  const shared = {
    model: "sonnet",
    max_tokens: 100,
    tools: [
      { name: "list", description: "", input_schema: schemas.list },
      { name: "read", description: "Reads.", input_schema: schemas.read },
    ],
  };
  const long = {
    ...shared,
    max_tokens: 4196,
    thinking: { type: "enabled", budget_tokens: 4096 },
    system: [{ type: "text", text: "Be brief.", ...mark }],
    tools: [shared.tools[0], { ...shared.tools[1], ...mark }],
    messages: [
      { role: "user", content: [
        { type: "text", text: "See this <image> & read." },
        { type: "image", source: { type: "base64", media_type: "image/png", data: png }, ...mark },
      ] },
      { role: "assistant", content: [
        { type: "thinking", thinking: "first", signature: "c2ln" },
        { type: "text", text: "Reading." },
        { type: "tool_use", id: "t1", name: "read", input: { n: 1.5 } },
        { type: "tool_use", id: "t2", name: "list", input: {} },
      ] },
      { role: "user", content: [
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "one" }] },
        { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "two" }], is_error: true },
        { type: "text", text: "Read it.", ...mark },
      ] },
    ],
  };
  const short = { ...shared, messages: [{ role: "user", content: "Read it." }] };
  for (let i = 0; i < answers; i++) {
    const m = await client.messages.stream(i ? short : long).finalMessage();
    const of = (type) => m.content.filter((b) => b.type === type);
    const u = m.usage;
    print({
      text: of("text").map((b) => b.text).join(""),
      reasoning: of("thinking").map((b) => b.thinking).join(""),
      calls: of("tool_use").map(({ id, name, input }) => ({ id, name, input })),
      stop: m.stop_reason,
      usage: [u.input_tokens, u.cache_read_input_tokens, u.cache_creation_input_tokens, u.output_tokens],
    });
  }
}

async function chat() {
  const OpenAI = await load("openai");
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-planted-secret-1", maxRetries: 0 });
  const tool = (name, description) => ({ type: "function", function: { name, description, parameters: schemas[name] } });
  const shared = {
    model: "plain",
    max_tokens: 100,
    tools: [tool("list", ""), tool("read", "Reads.")],
    stream_options: { include_usage: true },
  };
  const call = (id, name, args) => ({ id, type: "function", function: { name, arguments: args } });
  const long = {
    ...shared,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [
        { type: "text", text: "See this <image> & read." },
        { type: "image_url", image_url: { url: "data:image/png;base64," + png } },
      ] },
      { role: "assistant", content: "Reading.", tool_calls: [call("t1", "read", '{"n":1.5}'), call("t2", "list", "{}")] },
      { role: "tool", tool_call_id: "t1", content: "one" },
      { role: "tool", tool_call_id: "t2", content: "two" },
      { role: "user", content: "Read it." },
    ],
  };
  const short = { ...shared, messages: [{ role: "user", content: "Read it." }] };
  for (let i = 0; i < answers; i++) {
    const stream = client.chat.completions.stream(i ? short : long);
    let reasoning = "";
    for await (const chunk of stream) reasoning += chunk.choices[0]?.delta.reasoning_content ?? "";
    const m = await stream.finalChatCompletion();
    const { message, finish_reason } = m.choices[0];
    const cached = m.usage.prompt_tokens_details.cached_tokens;
    print({
      text: (message.content ?? "") + (message.refusal ?? ""),
      reasoning,
      calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, input: JSON.parse(c.function.arguments) })),
      stop: finish_reason,
      usage: [m.usage.prompt_tokens - cached, cached, 0, m.usage.completion_tokens],
    });
  }
}

async function responses() {
  const OpenAI = await load("openai");
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-planted-secret-1", maxRetries: 0 });
  const tool = (name, description) => ({ type: "function", name, description, parameters: schemas[name], strict: false });
  const shared = {
    model: "think",
    max_output_tokens: 100,
    store: false,
    include: ["reasoning.encrypted_content"],
    tools: [tool("list", ""), tool("read", "Reads.")],
    stream: true,
  };
  const long = {
    ...shared,
    reasoning: { effort: "low" },
    instructions: "Be brief.",
    input: [
      { role: "user", content: [
        { type: "input_text", text: "See this <image> & read." },
        { type: "input_image", image_url: "data:image/png;base64," + png, detail: "auto" },
      ] },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2ln" },
      { role: "assistant", content: "Reading." },
      { type: "function_call", call_id: "t1", name: "read", arguments: '{"n":1.5}' },
      { type: "function_call", call_id: "t2", name: "list", arguments: "{}" },
      { type: "function_call_output", call_id: "t1", output: "one" },
      { type: "function_call_output", call_id: "t2", output: "two" },
      { role: "user", content: [{ type: "input_text", text: "Read it." }] },
    ],
  };
  const short = { ...shared, input: [{ role: "user", content: "Read it." }] };
  for (let i = 0; i < answers; i++) {
    const m = await client.responses.stream(i ? short : long).finalResponse();
    const of = (type) => m.output.filter((item) => item.type === type);
    const parts = of("message").flatMap((item) => item.content);
    const { cached_tokens: cached, cache_write_tokens: written } = m.usage.input_tokens_details;
    print({
      text: parts.map((p) => p.text ?? p.refusal).join(""),
      reasoning: of("reasoning").flatMap((item) => item.summary).map((s) => s.text).join(""),
      calls: of("function_call").map((c) => ({ id: c.call_id, name: c.name, input: JSON.parse(c.arguments) })),
      stop: m.incomplete_details?.reason ?? m.status,
      usage: [m.usage.input_tokens - cached - written, cached, written, m.usage.output_tokens],
    });
  }
}

async function gemini() {
  const { GoogleGenAI } = await loadAll("@google/genai");
  const client = new GoogleGenAI({ apiKey: "sk-planted-secret-1", httpOptions: { baseUrl: base } });
  const tool = (name, description) => ({ name, description, parametersJsonSchema: schemas[name] });
  const shared = { maxOutputTokens: 100, tools: [{ functionDeclarations: [tool("list", ""), tool("read", "Reads.")] }] };
  const long = {
    model: "flash",
    config: { ...shared, systemInstruction: "Be brief.", thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" } },
    contents: [
      { role: "user", parts: [{ text: "See this <image> & read." }, { inlineData: { mimeType: "image/png", data: png } }] },
      { role: "model", parts: [
        { text: "first", thought: true },
        { text: "Reading." },
        { functionCall: { id: "t1", name: "read", args: { n: 1.5 } } },
        { functionCall: { id: "t2", name: "list", args: {} } },
      ] },
      { role: "user", parts: [
        { functionResponse: { id: "t1", name: "read", response: { output: "one" } } },
        { functionResponse: { id: "t2", name: "list", response: { error: "two" } } },
        { text: "Read it." },
      ] },
    ],
  };
  const short = { model: "flash", config: shared, contents: [{ role: "user", parts: [{ text: "Read it." }] }] };
  for (let i = 0; i < answers; i++) {
    const parts = [];
    let stop, u;
    for await (const chunk of await client.models.generateContentStream(i ? short : long)) {
      const candidate = chunk.candidates?.[0];
      parts.push(...(candidate?.content?.parts ?? []));
      stop = candidate?.finishReason ?? stop;
      u = chunk.usageMetadata ?? u;
    }
    const text = (thought) => parts.filter((p) => Boolean(p.thought) === thought).map((p) => p.text ?? "").join("");
    const cached = u.cachedContentTokenCount ?? 0;
    print({
      text: text(false),
      reasoning: text(true),
      calls: parts.filter((p) => p.functionCall).map((p) => ({ id: p.functionCall.id, name: p.functionCall.name, input: p.functionCall.args })),
      stop,
      usage: [u.promptTokenCount - cached, cached, 0, u.candidatesTokenCount + (u.thoughtsTokenCount ?? 0)],
    });
  }
}

async function ollama() {
  const { Ollama } = await loadAll("ollama");
  const client = new Ollama({ host: base });
  const tool = (name, description) => ({ type: "function", function: { name, description, parameters: schemas[name] } });
  const shared = {
    model: "llama",
    options: { num_predict: 100, num_ctx: 32000 },
    tools: [tool("list", ""), tool("read", "Reads.")],
    stream: true,
  };
  const call = (name, args) => ({ function: { name, arguments: args } });
  const long = {
    ...shared,
    think: "low",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "See this <image> & read.", images: [png] },
      { role: "assistant", content: "Reading.", thinking: "first", tool_calls: [call("read", { n: 1.5 }), call("list", {})] },
      { role: "tool", content: "one", tool_name: "read" },
      { role: "tool", content: "two", tool_name: "list" },
      { role: "user", content: "Read it." },
    ],
  };
  const short = { ...shared, messages: [{ role: "user", content: "Read it." }] };
  for (let i = 0; i < answers; i++) {
    const out = { text: "", reasoning: "", calls: [] };
    for await (const { message, ...rest } of await client.chat(i ? short : long)) {
      out.text += message.content;
      out.reasoning += message.thinking ?? "";
      for (const c of message.tool_calls ?? []) out.calls.push({ id: c.id, name: c.function.name, input: c.function.arguments });
      if (rest.done) print({ ...out, stop: rest.done_reason, usage: [rest.prompt_eval_count, 0, 0, rest.eval_count] });
    }
  }
}

const print = (v) => console.log(JSON.stringify(v));
const clients = { anthropic_messages: anthropic, openai_chat: chat, openai_responses: responses, gemini, ollama_chat: ollama };
await clients[dialect]();
