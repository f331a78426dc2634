package archtest

// module is the import path of the repository.
const module = "github.com/ryeos/rye"

// leaves are the packages that every package may import, and that import only
// diag and each other. A leaf has one idea and does not know items.
func leaves() map[string]bool {
	return set(
		"internal/account", "internal/applies", "internal/atomicfile", "internal/cas", "internal/chainlog", "internal/commitindex", "internal/cond", "internal/credentials", "internal/cuttext", "internal/dialog", "internal/dotpath", "internal/dx", "internal/every", "internal/filelock", "internal/filestamp", "internal/frontmatter",
		"internal/gitcmd", "internal/glob",
		"internal/header", "internal/hidden", "internal/hinttable", "internal/httpfill", "internal/httpserve", "internal/httpx", "internal/idpattern", "internal/inline", "internal/interpolate", "internal/journal", "internal/jsonx", "internal/layered", "internal/legacy",
		"internal/linediff", "internal/lineserver", "internal/links", "internal/markdown", "internal/mdmeta", "internal/mdterm", "internal/media", "internal/memo", "internal/once", "internal/openat", "internal/owner", "internal/pathcall", "internal/pep723", "internal/privatekey", "internal/proc", "internal/procwatch", "internal/pylit",
		"internal/promptinput", "internal/recordtext", "internal/redact", "internal/resulttext", "internal/runlog", "internal/runsoutside",
		"internal/schema", "internal/serverconfig", "internal/sibling", "internal/sqlite", "internal/stagedir", "internal/startheap", "internal/stepsource", "internal/suggest", "internal/termkeys", "internal/tmpl", "internal/touches", "internal/tomlx", "internal/tree",
		"internal/userdirs", "internal/volatile", "internal/vtmode", "internal/wheels", "internal/winname", "internal/workcopy", "internal/yamlx",
		"threads/compact", "threads/message",
	)
}

// layer is a group of packages with related jobs.
type layer struct {
	name    string
	entries []entry
}

// entry is a package with the packages of the repository that it may import in
// addition to diag and the leaves.
type entry struct {
	path    string
	imports map[string]bool
}

// layers are the packages that are not leaves, from top to bottom: an entry
// names only packages below it. Add the entry in the commit that adds its
// package.
func layers() []layer {
	return []layer{
		{"Program", []entry{
			{"cmd/rye", everything()},
			{"cmd/rye-server", everything()},
		}},
		{"Commands", []entry{
			{"internal/servercmd", set("internal/cli", "internal/cmd/self", "internal/servercmd/config", "internal/servercmd/gateway", "internal/servercmd/registry")},
			{"internal/servercmd/gateway", set("internal/cli", "internal/cmd/env", "internal/cmd/self", "internal/gateway", "internal/gateway/access", "internal/gateway/host", "internal/gateway/trail", "internal/project", "policy")},
			{"internal/servercmd/config", set("internal/cli", "internal/cmd/env")},
			{"internal/servercmd/registry", set("internal/cli", "internal/cmd/self", "registry/judge", "registry/server", "registry/wire", "registry/witness")},
			{"internal/cmd/setup", everything()},
			{"internal/cmd/bundle", everything()},
			{"internal/cmd/config", everything()},
			{"internal/cmd/doctor", everything()},
			{"internal/cmd/gateway", set("internal/cli")},
			{"internal/cmd/graph", everything()},
			{"internal/cmd/hook", everything()},
			{"internal/cmd/items", everything()},
			{"internal/cmd/sign", everything()},
			{"internal/cmd/verify", everything()},
			{"internal/cmd/key", everything()},
			{"internal/cmd/mcp", everything()},
			{"internal/cmd/packages", everything()},
			{"internal/cmd/provider", everything()},
			{"internal/cmd/registry", everything()},
			{"internal/cmd/run", everything()},
			{"internal/cmd/serve", everything()},
			{"internal/cmd/test", everything()},
			{"internal/cmd/threads", everything()},
			{"internal/cmd/tour", everything()},
			{"internal/cmd/transfer", everything()},
			{"internal/cmd/trust", everything()},
			{"internal/cmd/chat", everything()},
			{"internal/cmd/watch", everything()},
			{"internal/cmd/complete", everything()},
			{"internal/cmd/ask", everything()},
			{"internal/cmd/env", everything()},
			{"internal/cmd/view", everything()},
			{"internal/cmd/self", set("bundle", "exec", "internal/applet", "internal/cli", "item", "packages/source/git", "policy", "stdlib")},
			{"internal/cmd/templates", everything()},
		}},
		{"Command line", []entry{
			{"internal/cli", set()},
			{"internal/liveview", set("threads/activity", "threads/transcript", "policy")},
		}},
		{"Surfaces", []entry{
			{"internal/gateway", set("exec/graph", "internal/gateway/access", "internal/gateway/host", "internal/gateway/page", "internal/gateway/trail", "threads", "threads/transcript")},
			{"internal/gateway/page", set("internal/gateway/host", "internal/gateway/trail", "threads", "threads/activity", "threads/waiting")},
			{"internal/gateway/access", set("policy")},
			{"internal/gateway/trail", set()},
			{"internal/gateway/host", set("exec/graph", "internal/project", "item", "policy", "resolve", "threads", "threads/activity", "threads/control", "threads/copies", "threads/store", "threads/threadhost", "threads/transcript", "threads/tree", "threads/waiting")},
			{"mcpserve", set("primary/agent")},
		}},
		{"Opened project", []entry{
			{"internal/app", set("exec", "internal/mcpclient", "internal/project", "internal/surface", "primary/agent", "registry/items", "threads/programs", "threads/threadhost", "threads/tree", "exec/graph/graphhost", "internal/deps")},
			{"internal/surface", set("exec", "exec/sandbox", "internal/auditlog", "internal/mcpclient", "internal/project", "internal/search", "item", "lock", "policy", "primary", "primary/agent", "registry/items", "resolve", "resolve/space", "sign", "internal/relock", "internal/consent")},
			{"internal/status", set("internal/export", "internal/githook", "internal/project", "item", "lock", "packages", "resolve", "resolve/space", "sign", "trust", "trust/doc", "verify", "internal/revision", "internal/relock", "internal/deps", "packages/adopt")},
			{"registry/items", set("bundle", "exec", "internal/project", "internal/search", "item", "lock", "packages", "policy", "primary/agent", "registry/client", "registry/publish", "registry/wire", "resolve", "resolve/space", "sign", "threads", "trust", "verify", "exec/graph/graphhost", "internal/signing", "internal/deps")},
			{"registry/publish", set("bundle", "internal/auditlog", "internal/extract", "internal/importing", "internal/project", "item", "lock", "packages", "packages/source", "registry/client", "registry/judge", "registry/rules", "registry/wire", "resolve", "resolve/space", "sign", "stdlib", "trust/doc", "verify", "internal/itemcheck", "lock/treehash", "internal/deps")},
			{"registry/judge", set("bundle", "internal/extract", "internal/project", "lock", "packages", "registry/rules", "registry/wire", "resolve", "resolve/space", "stdlib", "trust", "verify", "internal/itemcheck", "internal/deps")},
			{"internal/importing", set("bundle", "internal/extract", "internal/importsource", "internal/interop", "internal/mcpclient", "internal/project", "internal/ryeos", "item", "primary", "resolve", "resolve/space", "sign", "verify", "internal/signing")},
			{"threads/testrun", set("internal/project", "item", "policy", "resolve", "resolve/space", "sign", "threads", "threads/steps", "threads/testfile", "threads/threadhost", "threads/records")},
			{"internal/session", set("exec/graph", "internal/project", "threads", "threads/control", "threads/handle", "threads/inbox", "threads/ledger", "threads/store", "threads/threadhost", "threads/transcript", "threads/tree")},
			{"threads/upkeep", set("exec/graph", "internal/project", "item", "policy", "threads", "threads/handle", "threads/heads", "threads/inbox", "threads/store", "threads/threadhost", "threads/transcript", "threads/waiting", "threads/copies", "threads/control", "threads/records", "threads/ledger")},
			{"threads/tree", set("exec", "exec/graph", "internal/project", "item", "policy", "threads", "threads/store", "threads/threadhost", "threads/token", "threads/transcript", "threads/prepare", "exec/graph/graphhost", "threads/copies", "threads/control", "threads/ledger")},
			{"threads/programs", set("exec", "internal/project", "policy", "primary/agent", "threads", "threads/provider", "threads/threadhost", "threads/modelsetup")},
			{"threads/explain", set("exec", "internal/project", "item", "policy", "primary", "resolve", "threads", "threads/copies", "threads/modelhost", "threads/prepare", "threads/threadhost", "threads/transcript")},
			{"threads/threadhost", set("exec", "exec/graph", "internal/directive", "internal/itemcheck", "internal/project", "item", "lock", "policy", "primary", "primary/agent", "resolve", "resolve/space", "threads", "threads/attach", "threads/converse", "threads/heads", "threads/provider", "threads/settings", "threads/steps", "threads/store", "threads/token", "threads/transcript", "trust", "threads/prepare", "exec/graph/graphhost", "threads/copies", "threads/modelhost", "threads/control", "threads/records", "threads/ledger", "exec/graph/graphdef")},
			{"threads/prepare", set("internal/directive", "internal/hooks", "internal/project", "item", "policy", "primary", "resolve", "threads", "threads/handle", "threads/provider", "threads/settings", "threads/steps", "threads/transcript", "threads/modelhost", "threads/records")},
			{"exec/graph/graphhost", set("exec", "exec/graph", "internal/itemcheck", "internal/project", "item", "lock", "policy", "primary", "primary/agent", "resolve", "threads", "threads/copies", "threads/transcript", "threads/control", "threads/records", "threads/ledger", "exec/graph/graphdef")},
			{"threads/copies", set("exec/graph", "internal/project", "item", "policy", "resolve/space", "threads", "threads/store", "threads/control", "threads/records")},
			{"threads/modelsetup", set("exec", "exec/graph", "internal/project", "internal/setup", "item", "policy", "primary/agent", "resolve", "resolve/space", "sign", "threads/models", "threads/provider", "threads/store", "threads/modelhost", "internal/signing")},
			{"threads/modelhost", set("exec", "internal/project", "item", "policy", "resolve", "resolve/space", "threads", "threads/provider")},
			{"threads/control", set("exec/graph", "internal/project", "item", "policy", "primary", "threads", "threads/handle", "threads/heads", "threads/settings", "threads/store", "threads/transcript", "threads/waiting", "threads/records", "threads/ledger")},
			{"internal/signing", set("bundle", "internal/draft", "internal/extract", "internal/project", "item", "policy", "primary", "resolve", "resolve/space", "sign", "trust", "trust/doc", "verify", "internal/relock")},
			{"threads/records", set("exec/graph", "internal/auditlog", "internal/extract", "internal/project", "item", "resolve/space", "sign", "trust/doc")},
			{"threads/ledger", set("exec", "exec/graph", "internal/project", "item", "policy", "threads", "threads/settings", "threads/store", "threads/token", "exec/graph/graphdef")},
			{"internal/revision", set("internal/extract", "internal/githook", "internal/project", "item", "lock", "primary", "resolve", "resolve/space", "sign", "verify", "internal/relock")},
			{"internal/relock", set("internal/extract", "internal/keychain", "internal/project", "item", "lock", "packages", "primary", "resolve", "resolve/space", "sign", "trust", "verify", "internal/deps")},
			{"internal/deps", set("bundle", "exec", "internal/extract", "internal/project", "item", "lock", "packages", "packages/source", "packages/source/git", "packages/source/registry", "registry/client", "registry/log", "registry/wire", "resolve/space", "sign", "trust", "trust/doc")},
			{"internal/project", set("internal/keychain", "internal/auditlog", "threads", "threads/store", "threads/transcript", "primary", "primary/agent", "verify", "internal/search", "internal/mcpclient", "exec", "exec/sandbox", "packages", "packages/source", "resolve", "resolve/space", "lock", "bundle", "trust", "trust/doc", "sign", "internal/extract", "policy", "item", "stdlib", "internal/itemcheck", "lock/treehash", "internal/consent")},
			{"internal/consent", set("exec", "item")},
			{"internal/itemcheck", set("exec", "internal/draft", "item", "policy", "primary", "resolve", "resolve/space", "threads/steps", "exec/graph/graphdef")},
			{"internal/keychain", set("packages", "resolve/space", "trust", "trust/doc", "sign")},
			{"internal/githook", set("primary", "verify", "exec", "resolve", "resolve/space", "lock", "bundle", "trust", "sign", "internal/extract", "policy", "item")},
		}},
		{"Verbs", []entry{
			{"internal/importsource", set("internal/interop", "internal/extract", "resolve/space")},
			{"internal/draft", set("exec", "internal/mcpclient", "threads/provider", "resolve", "item", "exec/graph/graphdef")},
			{"primary/agent", set("primary", "exec", "internal/search", "internal/mcpclient", "resolve", "resolve/space", "trust", "sign", "internal/extract", "policy", "item")},
			{"primary", set("internal/auditlog", "exec", "internal/ryeos", "internal/search", "internal/mcpclient", "resolve", "resolve/space", "lock", "bundle", "trust", "sign", "internal/extract", "policy", "item")},
		}},
		{"Execution", []entry{
			{"threads/settings", set("resolve", "threads/steps")},
			{"threads/handle", set("threads", "threads/transcript", "exec/graph")},
			{"threads/waiting", set("threads", "exec/graph")},
			{"internal/mcpclient", set("exec", "resolve", "resolve/space", "policy", "sign", "item")},
			{"exec/graph", set("internal/hooks", "threads/inbox", "threads/transcript", "policy", "sign", "item", "exec/graph/graphdef")},
			{"exec/graph/graphdef", set("internal/hooks", "item", "policy")},
			{"exec", set("exec/sandbox", "exec/httpstep", "internal/ryeos", "policy", "resolve", "resolve/space", "lock", "internal/extract", "item")},
			{"internal/setup", set("threads/models")},
			{"threads/models", set("threads/provider", "item")},
			{"threads/attach", set()},
			{"threads/provider", set("exec/httpstep")},
			{"threads/provider/scripted", set()},
			{"exec/httpstep", set("policy", "item")},
			{"exec/sandbox", set("exec/sandbox/confine", "policy")},
			{"exec/sandbox/confine", set()},
		}},
		{"Bodies of standard tools", []entry{
			{"internal/applet", set("internal/applet/fs", "internal/applet/lsp", "internal/applet/prepare", "internal/applet/shell", "internal/applet/telemetry", "internal/applet/web", "internal/applet/wire")},
			{"internal/writediff", set("internal/applet/fs", "internal/applet/wire", "policy")},
			{"internal/applet/fs", set("internal/applet/files", "internal/applet/wire", "item")},
			{"internal/applet/lsp", set("internal/applet/files", "internal/applet/wire", "item")},
			{"internal/applet/prepare", set("internal/applet/wire")},
			{"internal/applet/shell", set("internal/applet/files", "internal/applet/wire", "item")},
			{"internal/applet/telemetry", set("internal/applet/files", "internal/applet/wire", "item")},
			{"internal/applet/web", set("internal/applet/wire", "item")},
			{"internal/applet/files", set("internal/applet/wire", "policy")},
			{"internal/applet/wire", set()},
		}},
		{"Bundles of a project", []entry{
			{"internal/export", set("packages/adopt", "lock/treehash", "policy", "item")},
			{"internal/report", set("internal/interop/scan", "lock/treehash", "policy", "item")},
			{"packages/adopt", set("internal/interop/scan", "item", "lock", "lock/edit", "lock/treehash", "packages", "packages/source", "resolve/space", "review", "sign", "trust")},
			{"internal/interop/scan", set("internal/interop", "packages/source", "lock/treehash", "bundle", "item")},
			{"packages", set("internal/mvs", "lock/why", "packages/source", "resolve/space", "bundle", "lock", "trust", "sign", "policy", "item", "lock/treehash", "lock/edit")},
			{"packages/source/registry", set("packages/source", "registry/client", "registry/wire", "trust/doc", "bundle", "lock", "sign", "item")},
			{"packages/source/git", set("packages/source", "bundle", "lock", "item", "lock/treehash")},
			{"packages/source", set("bundle", "lock", "item", "lock/treehash")},
		}},
		{"Registry", []entry{
			{"registry/client", set("registry/log", "registry/wire", "trust/doc", "lock", "sign", "item", "lock/treehash")},
			{"registry/server", set("internal/search", "item", "registry/log", "registry/rules", "registry/wire", "sign", "trust", "trust/doc", "lock/treehash")},
			{"registry/rules", set("lock", "registry/log", "registry/wire", "trust", "trust/doc", "lock/treehash")},
			{"registry/witness", set("registry/log")},
			{"registry/wire", set("registry/log", "bundle", "lock", "sign", "item", "lock/treehash")},
			{"registry/log", set("sign")},
		}},
		{"Verified items", []entry{
			{"verify", set("resolve", "resolve/space", "lock", "bundle", "trust", "sign", "policy", "internal/extract", "item", "lock/treehash")},
			{"internal/search", set("resolve", "resolve/space", "lock", "bundle", "trust", "sign", "internal/extract", "item")},
			{"internal/interop", set("item")},
			{"internal/ryeos", set("resolve", "internal/extract", "item")},
			{"resolve", set("resolve/space", "lock", "bundle", "trust", "sign", "policy", "internal/hooks", "internal/directive", "internal/extract", "item")},
		}},
		{"Logs of threads and runs", []entry{
			// Not threads/provider: no Go code has a loop over turns.
			{"threads/activity", set("threads", "threads/transcript", "policy")},
			{"threads/testfile", set("threads")},
			{"threads/converse", set("threads", "threads/inbox", "threads/transcript")},
			{"threads", set("threads/transcript", "policy", "sign", "item")},
			{"threads/steps", set("threads/transcript", "internal/hooks", "policy", "item")},
			{"threads/store", set("policy")},
			{"threads/token", set("policy", "sign", "item")},
			{"threads/inbox", set("threads/transcript")},
			{"threads/transcript", set("threads/heads", "sign", "item")},
			{"threads/heads", set()},
		}},
		{"Trust, files and permissions", []entry{
			{"bundle/newuser", set()},
			{"internal/auditlog", set("trust", "trust/doc", "resolve/space", "sign", "item")},
			{"internal/coauthor", set("trust", "sign")},
			{"bundle/release", set("bundle", "trust", "trust/doc", "sign", "lock", "item", "resolve/space")},
			{"review", set("lock", "lock/treehash", "trust", "trust/doc", "sign", "item")},
			{"trust", set("trust/doc", "sign", "item")},
			{"trust/doc", set("sign", "item")},
			{"lock/sbom", set("lock", "item")},
			{"lock/why", set("lock")},
			{"internal/mvs", set("lock")},
			{"lock/edit", set("lock", "item")},
			{"lock", set("lock/treehash", "sign", "item")},
			{"lock/treehash", set("item")},
			{"bundle", set("sign", "item")},
			{"internal/directive", set("internal/hooks", "policy", "item")},
			{"internal/hooks", set("policy", "item")},
			{"internal/extract", set("sign", "item")},
			{"resolve/space", set("sign", "item")},
			{"policy", set("item")},
		}},
		{"Foundation", []entry{
			{"sign", set("item")},
			{"item", set()},
			{"diag", set()},
			{"stdlib", set()},
			{"examples", set()},
		}},
		{"Tests and measurement", []entry{
			{"internal/testing/testkit", set("resolve/space", "stdlib", "bundle", "trust", "trust/doc", "internal/extract", "sign", "item")},
			{"internal/testing/vterm", set()},
			{"internal/selfhost", set()},
			{"internal/archtest", set()},
			{"docs/reference/format", set()},
			{"internal/testing/sourcetest", set("packages/source", "lock")},
			{"internal/testing/logtest", set()},
			{"internal/testing/mcptest", set()},
			{"internal/testing/modelserver", set("threads/provider/scripted")},
			{"internal/testing/slowtests", set()},
			{"internal/testing/stepevents", set()},
			{"internal/testing/wiretest", set("internal/applet/wire")},
			{"internal/testing/bench", set("internal/testing/bench/rulemodel", "threads/provider/scripted", "threads/store", "policy", "internal/filelock", "registry/log", "internal/testing/logtest")}, // what is measured without the program
			{"internal/testing/winecheck", set()},
			{"internal/testing/bench/rulemodel", set("threads/provider/scripted")},
			{"internal/testing/bench/hello", set("mcpserve", "primary/agent")}, // a bare server that rye serve is compared with
			{"examples/model-server", set("internal/testing/modelserver")},     // for readers of the examples
		}},
	}
}

// everything marks a package that may import all others.
func everything() map[string]bool { return nil }

// neverImported are packages that no package imports, not even cmd/rye. Tests may.
func neverImported() map[string]bool {
	return set("cmd/rye", "cmd/rye-server", "internal/archtest", "internal/testing/testkit", "internal/testing/vterm", "internal/testing/sourcetest", "internal/testing/mcptest", "internal/testing/wiretest")
}

// thirdParty maps the import path of a module, or of a part of it, to the only
// packages that may import it. A module that is not listed is a failure.
func thirdParty() map[string]map[string]bool {
	return map[string]map[string]bool{
		"filippo.io/edwards25519":                         set("sign"),
		"github.com/creack/pty":                           set("internal/testing/testkit"),
		"github.com/modelcontextprotocol/go-sdk":          set("mcpserve", "internal/mcpclient", "internal/testing/bench/hello"),
		"github.com/JohannesKaufmann/html-to-markdown/v2": set("internal/applet/web"),
		"github.com/rogpeppe/go-internal/diff":            set("internal/linediff"),
		"github.com/sourcegraph/jsonrpc2":                 set("internal/applet/lsp"),
		"github.com/tailscale/hujson":                     set("internal/mcpclient"),
		"mvdan.cc/sh/v3/syntax":                           set("policy"),
		"github.com/pelletier/go-toml/v2":                 set("internal/tomlx"),
		"github.com/sigstore/sigstore":                    set("sign"),
		"github.com/urfave/cli/v2":                        set("internal/cli"),
		"golang.org/x/image/webp":                         set("internal/media"),
		"golang.org/x/crypto":                             set("sign"),
		"golang.org/x/mod/module":                         set("item", "lock", "lock/treehash", "bundle"),
		"golang.org/x/mod/semver":                         set("item", "lock", "bundle"),
		"golang.org/x/mod/sumdb":                          set("registry/log", "internal/testing/logtest"),
		"golang.org/x/net/bpf":                            set("exec/sandbox"),
		"golang.org/x/net/html":                           set("internal/applet/web"),
		"golang.org/x/sync":                               everything(),
		"github.com/go-git/go-billy/v5":                   set("packages/source/git"),
		"github.com/go-git/go-git/v5":                     set("packages/source/git"),
		"github.com/go-jose/go-jose/v4":                   set("registry/server"),
		"golang.org/x/sys":                                set("exec/sandbox", "exec/sandbox/confine", "internal/proc", "internal/openat", "internal/termkeys", "internal/testing/testkit", "internal/vtmode"),
		"golang.org/x/term":                               set("internal/cli"),
		"github.com/charmbracelet/x/ansi":                 set("internal/inline", "internal/mdterm"),
		"github.com/charmbracelet/x/vt":                   set("internal/testing/vterm"),
		"github.com/coder/websocket":                      set("internal/gateway"),
		"github.com/danielgtaylor/huma/v2":                set("internal/gateway"),
		"github.com/fsnotify/fsnotify":                    set("internal/gateway"),
		"github.com/yuin/goldmark":                        set("internal/mdterm", "internal/markdown"),
		"gopkg.in/yaml.v3":                                set("internal/yamlx"),
		"modernc.org/sqlite":                              set("internal/sqlite"),
	}
}

// testOnly are modules that only tests import, except for the parts of them that
// thirdParty lists.
func testOnly() map[string]bool {
	return set("github.com/chromedp/cdproto", "github.com/chromedp/chromedp", "github.com/rogpeppe/go-internal", "github.com/charmbracelet/x/vt")
}

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
