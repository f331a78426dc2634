package main

// typicalRows returns rows as the commands print them, by the name of the table. Cells are
// separated by bars.
func typicalRows() map[string]string {
	return map[string]string{
		"list": `directive:demo/triage|1.0.0|project|trusted|Label an issue and name the package that it is about.
tool:demo/release/collect-notes|0.3.1|project|untrusted|Collect the notes of a release.
tool:rye/agent/providers/openai_chat|1.0.0|system:rye-core|trusted|Models of services that speak the chat dialect.
directive:demo/triage (shadowed)|0.9.0|user:registry:rye.acme.io/acme.io/tools|trusted|`,
		"search": `tool:rye/file-system/read|1.0.0|system:rye-core|trusted|7.31|Read lines of a file.
knowledge:rye/core/metadata-reference|1.0.0|system:rye-core|trusted|2.05|Where tools are declared.
tool:demo/read (shadows system)|1.0.0|project|trusted|1.00|Read.`,
		"search registry": `tool:tools/release/notes|listed|9c1e04b7aa21f0d3, 00ffee1122334455|3.10|Collect the notes of a release.
tool:tools/lines|yanked|9c1e04b7aa21f0d3|1.00|Count lines.`,
		"chain": `|tool:demo/hello|project|1.0.0|sha256:4f3a9b2c1d0e|ada
->|runtime:rye/core/runtimes/bash/bash|system:rye-core|1.0.0|sha256:00ffee112233|rye
->|tool:rye/core/primitives/subprocess|system:rye-core|1.0.0|sha256:9c1e04b7aa21|untrusted`,
		"shadowed": `tool:demo/read|.ai/tools/demo/read.sh|trusted|~/.ai/tools/demo/read.sh
tool:rye/bash/bash|.ai/tools/rye/bash/bash.yaml|untrusted|system:.ai/tools/rye/bash/bash.yaml`,
		"show": `title|Triage
description|Label an issue, name the package that it is about, and write what a person should read first.
digest|sha256:4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a
may call|rye.execute.tool.rye.file-system.*
|rye.execute.tool.rye.bash.bash`,
		"dry run": `program|/usr/bin/bash
arguments|-c "printf '%s\n' \"$1\"" -- hello
sandbox|reads ., /usr, /lib, /lib64, /etc/ssl/certs
|writes .
|network none`,
		"config": `limits.turns|20
providers.openai_chat.models.qwen3-coder-480b-a35b-instruct.window|262144
retry.patterns|["rate.?limit","overloaded","temporarily unavailable","connection reset by peer"]`,
		"origins": `limits.turns|20|.ai/config/agent/agent.yaml:4
providers.openai_chat.models.qwen3-coder-480b-a35b-instruct.window|262144|system:.ai/config/agent/agent.yaml:31`,
		"change": `sandbox.unconfined|[]|->|["tool:demo/install"]
limits.spend|not set|->|"2.50"`,
		"status": `project|/home/ada/work  rye 0.9.0, demo
key|ada 4f3a9b2c1d0e4f3a, ends 2028-11-20 (722 days)
items|12 trusted, 1 changed: rye sign tool:demo/hello`,
		"doctor": `ok|git|git version 2.39.5 (/usr/bin/git)
fail|config directory|/home/ada/.config/rye: other users of this machine can write there
||fix: chmod go-w /home/ada/.config/rye
warn|sandbox cgroup|not delegated: limits of memory are those of each process`,
		"hooks": `installed|.git/hooks/pre-commit
unchanged|.git/hooks/pre-push (after .git/hooks/pre-push.before-rye)`,
		"verified": `trusted|.ai/directives/demo/triage.md|ada
key_unknown|.ai/tools/demo/release/collect-notes.sh|`,
		"threads": `12|demo/triage|waiting for you: rm -r build, 4 min|12 min|0.008|0.20|3|issue.md|triage-01jd8x9a7b6c5d4e3f2g1h0j9k|4711|2026-11-29T12:53:42Z
13|  rye/agent/threads/thread_summary|completed|42 s|0.00104|0.20|1||thread_summary-01jd8x9a7b6c5d4e3f2g1h0j9k||2026-11-29T12:55:42Z
1017|rye/agent/core/base|error (orphaned)|2 d|0.00|1.00|17|Which of the tests in this repository are slow, and why are…|base-01jd8x9a7b6c5d4e3f2g1h0j9k||2026-11-27T12:53:42Z`,
		"chain of threads": `demo/triage|continued|20|0.12|triage-01jd8x9a7b6c5d4e3f2g1h0j9k
demo/triage|suspended (approval)|31|0.18|triage-01jd8x9b7b6c5d4e3f2g1h0j9k`,
		"conversations": `12|How do I add a table?|suspended (message)|3 min|0.0062|rye/agent/core/chat|chat-01jd8x9a7b6c5d4e3f2g1h0j9k
9|Which files of the package have no tests, and which of these could be written today?|completed|2 d|0.18|demo/triage|triage-01jd8x9b7b6c5d4e3f2g1h0j9k`,
		"costs": `12|demo/triage|completed|3 min|7|0.00624|0.00|0.20|triage-01jd8x9a7b6c5d4e3f2g1h0j9k
|rye/agent/core/base|error (orphaned)|2 d|1|0.00|0.017|1.00|base-01jd8x9a7b6c5d4e3f2g1h0j9k`,
		"cost": `all|0.00624|0.00104|0.00|0.20|0.00
anthropic/claude-sonnet-5-5|0.00624|0.00104|0.00||`,
		"cost of a tree": `12|demo/triage|4|0.00208|0.00|0.00|triage-01jd8x9a7b6c5d4e3f2g1h0j9k
13|  rye/agent/threads/thread_summary|1|0.00104|0.00|0.00|thread_summary-01jd8x9a7b6c5d4e3f2g1h0j9k
|total|5|0.00312|0.00|0.00|`,
		"cost of a user": `2026-11-29|0.04|0.017|5.00
2026-11|1.20|0.017|50.00`,
		"runs": `14|team/release|suspended (ask)|5 h|approve|12|release-01jd8x9a7b6c5d4e3f2g1h0j9k|2026-11-29T07:53:42.000Z
|team/convert-all-documents|running|42 s|convert.each|4012|convert-all-documents-01jd8x9a7b6c5d4e3f2g1h0j9k|2026-11-29T12:53:00.000Z`,
		"steps": `   1|2026-11-29T07:53:42.000Z|graph_started|team/release tag=v1.0.0
  12|2026-11-29T07:53:43.112Z|node_committed|approve approved=true by=ada -> publish, after the tests of every platform have passed`,
		"verified runs": `triage-01jd8x9a7b6c5d4e3f2g1h0j9k|14 lines, signed up to line 14
release-01jd8x9a7b6c5d4e3f2g1h0j9k|102 lines, signed up to line 96; its process was stopped before it signed the rest`,
		"tools of a prompt": `rye__file-system__read|Read lines of a file, or an image, a PDF or a notebook as a model sees it.
search|Find items.`,
		"bundle of a registry": `  about|Notes of releases, collected from the log of a repository.
  items|tool:tools/release/notes, directive:tools/release/write
  signer|9c1e04b7aa21f0d39c1e04b7aa21f0d39c1e04b7aa21f0d39c1e04b7aa21f0d3 (unknown acme)
  first|published 2026-11-29`,
		"thread": `thread|triage-01jd8x9a7b6c5d4e3f2g1h0j9k
directive|directive:demo/triage sha256:4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a
turn 1|bash failed 4100 ms`,
		"gateway keys": `k3f9a2bc|ci|operator|until 2027-02-28|/home/ada/work
x8d1e0aa|a-colleague-with-a-long-name|viewer|revoked|all projects`,
		"gateway audit": `2026-11-29T12:53:42Z|local local|POST /t/triage-01jd8x9a7b6c5d4e3f2g1h0j9k/decide|303|127.0.0.1
2026-11-29T12:53:44Z|k3f9a2bc ci|POST /api/v1/threads|202|127.0.0.1`,
		"server config": `file|/etc/rye/server.yaml
gateway.addr|127.0.0.1:7340
gateway.public_url|-`,
		"plan": `directive|directive:demo/triage, signed by ada, project
files|none: tools see an empty directory in place of /home/ada, because it is the home directory
price|0.25 in, 0.75 out, for a million tokens`,
		"waiting": `12|demo/triage|rm -r build|4 min|issue.md|triage-01jd8x9a7b6c5d4e3f2g1h0j9k|call_1_1/1
14|team/release|Is the release complete, and did the tests pass on every platform?|2 d|tag=v1.0.0|release-01jd8x9a7b6c5d4e3f2g1h0j9k|approve`,
		"removed threads": `would remove|triage-01jd8x9a7b6c5d4e3f2g1h0j9k|3 threads|2026-10-29
kept|release-01jd8x9a7b6c5d4e3f2g1h0j9k|1 thread|2026-10-29  it is suspended, and can be continued`,
		"providers": `anthropic|key missing|ANTHROPIC_API_KEY
mine/a-name-that-is-much-longer-than-a-column|answers, not tested|a-model-with-a-long-name-that-does-not-fit-either
ollama|answers|qwen3:8b, llama3.2`,
		"prices": `anthropic|claude-sonnet-5-5|2.00|0.20|2.50|10.00|2026-10-24|https://docs.anthropic.com/pricing|
|above 200000 input tokens|4.00|0.40|5.00|20.00|||
acme/vllm|qwen3-coder-480b-a35b-instruct|0.25|0.05||0.75|2026-01-01|a guess|the prices are older than 90 days`,
		"test call": `text|claude-sonnet-5-5|412 ms|14|3|0.000058
tool call|claude-sonnet-5-5|1204 ms|210|31|0.00073 (assumed)`,
		"models": `claude-sonnet-5-5|3 of 3|2 of 3|14|$0.12|41.2s
qwen3-coder-480b-a35b-instruct|1 of 3|0 of 3|40|$0.01|2m3s`,
		"keys": `4f3a9b2c1d0e4f3a|ada|valid, default|2028-11-20|722|tools and directives of demo/**|~/.config/rye/keys/4f3a9b2c1d0e4f3a.key
00ffee1122334455|ada-laptop|expired|2026-11-20|-9|everything|~/.config/rye/keys/00ffee1122334455.key`,
		"trust": `4f3a9b2c1d0e4f3a|ada|user (own)|valid|2028-11-20|everything
9c1e04b7aa21f0d3|the maintainers of acme|project|valid|never|tools, knowledge and directives of acme/** and shared/**`,
		"signatures": `12|2026-11-29T12:53:42Z|cli|sign|tool:demo/hello|project|4f3a9b2c1d0e4f3a|/home/ada/work
13|2026-11-29T12:54:10Z|hook|endorse|endorsement of 9c1e04b7aa21f0d3|user|4f3a9b2c1d0e4f3a|`,
		"bundles": `github.com/acme/tools|v1.4.0|installed|acme (9c1e04b7aa21f0d3)
registry:rye.acme.io/acme.io/tools (needed by others)|v0.3.1|not installed|`,
		"own bundles": `github.com/ada/tools|1.4.0|12|ada (4f3a9b2c1d0e4f3a)|up to date
acme/notes|0.1.0|3||unsigned`,
		"files": `.ai/tools/release/notes.sh|100755|sha256:4f3a9b2c1d0e
manifest.yaml|100644|sha256:00ffee112233`,
		"outdated": `github.com/acme/tools|v1.4.0|v1.6.2|
registry:rye.acme.io/acme.io/tools|v0.3.1|unknown|v0.4.0 is younger than policy.min-age allows`,
		"rules": `rule|policy.sources|github.com/acme/**|rye.yaml:12
rule|policy.min-age|7d|/etc/rye/rules.yaml:3`,
		"policy": `policy.sources|github.com/acme/**, registry:rye.acme.io/**|rye.yaml:12
policy.min-age|7d|/etc/rye/rules.yaml:3`,
		"bundle": `bundle|github.com/acme/tools
versions|v1.0.0, v1.1.0, v1.2.0, v1.2.1, v1.3.0, v1.4.0, v1.5.0, v1.5.1, v1.6.0, v1.6.1, v1.6.2
sum|sha256:4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a9b2c1d0e4f3a
signed by|acme (9c1e04b7aa21f0d3)`,
		"release": `release|acme/tools 1.6.2
signer|9c1e 04b7 aa21 f0d3 9c1e 04b7 aa21 f0d3 9c1e 04b7 aa21 f0d3 9c1e 04b7 aa21 f0d3 (acme)
|not trusted: key_unknown; the repository has its key document`,
		"cache": `directory|/home/ada/.cache/rye/bundles
bundles|12, 3.4 MiB`,
		"registries": `rye.acme.io|rye.acme.io+9c1e04b7+AWh0dHBzOi8vcnllLmFjbWUuaW8vbG9n|2 of 3|default
localhost:8443|localhost+00ffee11+AWh0dHBzOi8vbG9jYWxob3N0|0 of 0|refused: it signed two histories`,
		"registry reports": `3|2026-11-29|acme.io/tools|v1.4.0|The tool notes sends the file to a host that its description does not name.
12|2026-11-30|acme.io/notes|v0.1.0|typo`,
		"servers": `files|project|3 tools|signed|npx -y @modelcontextprotocol/server-filesystem .
  read_file|||| Read a file.
issues|user|41 tools|refused|https://mcp.acme.io/v1/issues`,
		"server": `  command|npx -y @modelcontextprotocol/server-filesystem /home/ada/work
  variable|TOKEN = ${ISSUES_TOKEN}
  sandbox|reads ., /usr
|network: registry.npmjs.org`,
		"offer": `  software|files 1.2.0
  tools|3 tools`,
		"mcp tools": `    read_file|Read a file. …
    search_files_with_a_long_name|Find files whose name matches a pattern, in a directory and all directories below it.`,
		"help": `  threads|watch, answer and continue threads
  -C, --project DIR|project DIR; paths are relative to it
      --capabilities PATTERN|a capability that the session has (default rye.search.*, rye.load.*)`,
		"codes": `TRUST_FAILURE|5|a signature is not by a key that is trusted
HASH_MISMATCH|5|the content of a file is not the content that was signed or locked`,
	}
}
