package archtest

// module is the path in front of every room.
const module = "github.com/ryeos/rye"

// leaves are the rooms that everyone may import and that import only each
// other and diag. A leaf has one idea and knows no items.
func leaves() map[string]bool {
	return set(
		"internal/atomicfile", "internal/auditlog", "internal/cas", "internal/dx", "internal/filelock",
		"internal/gitcmd", "internal/glob",
		"internal/header", "internal/hidden", "internal/httpfill", "internal/httpx", "internal/jsonx", "internal/layered", "internal/legacy",
		"internal/linediff", "internal/mdmeta", "internal/mvs", "internal/openat", "internal/proc", "internal/pylit", "internal/runlog",
		"internal/schema", "internal/suggest", "internal/tmpl", "internal/tomlx", "internal/tree",
		"internal/userdirs", "internal/yamlx",
	)
}

// rooms maps each room above the leaves to the rooms it may import directly,
// besides diag and the leaves. A room that is not here is a failure: add it
// with its place in the picture of docs/layout.md.
func rooms() map[string]map[string]bool {
	base := []string{"item", "sign", "resolve/space", "trust", "internal/extract"}
	found := append([]string{"resolve", "lock", "bundle"}, base...)
	run := append([]string{"exec", "policy"}, found...)
	return map[string]map[string]bool{
		"diag":          set(),
		"item":          set(),
		"stdlib":        set(),
		"sign":          set("item"),
		"resolve/space": set("item"),
		"trust":         set("item", "sign"),
		"policy":        set("item"),

		"internal/extract": set("item", "sign"),

		"bundle":                     set("item", "sign"),
		"packages/source":            set("item", "bundle", "lock"),
		"packages/source/git":        set("item", "bundle", "packages/source", "lock"),
		"packages/source/sourcetest": set("packages/source", "lock"), // tests only
		"packages":                   set("item", "sign", "trust", "policy", "bundle", "lock", "packages/source"),
		"lock/sbom":                  set("item", "lock"),
		"lock":                       set(base...),
		"resolve":                    set(append([]string{"lock", "bundle"}, base...)...),
		"exec":                       set(append([]string{"policy"}, found...)...),
		"verify":                     set(found...),
		"internal/search":            set(found...),
		"internal/githook":           set(append([]string{"verify", "primary"}, found...)...),
		"primary":                    set(append([]string{"internal/search"}, run...)...),
		"mcpserve":                   set(append([]string{"primary"}, run...)...),
		"internal/mcpclient":         set("item", "resolve", "resolve/space", "exec", "policy"),
		"internal/mcpclient/mcptest": set(), // tests only
		"internal/applet":            set("item", "policy", "primary"),
		"internal/cli":               set(),                      // diag and leaves only
		"cmd/rye":                    nil,                        // the top: it may import every room
		"internal/bench":             set(),                      // measures the program from outside
		"internal/bench/hello":       set("mcpserve", "primary"), // what it measures serve beside
		"docs/format":                set(),                      // tests only
		"internal/archtest":          set(),
		"internal/selfhost":          set(), // tests only
		"internal/testkit":           set(append([]string{"bundle", "stdlib"}, base...)...),
	}
}

// neverImported are rooms that no room may import, not even the top; tests may.
func neverImported() map[string]bool {
	return set("cmd/rye", "internal/archtest", "internal/testkit", "packages/source/sourcetest", "internal/mcpclient/mcptest")
}

// thirdParty maps the path of a module, or of a part of it, to the only rooms
// that may import it. A module that is not here is a failure.
func thirdParty() map[string]map[string]bool {
	return map[string]map[string]bool{
		"filippo.io/edwards25519":                         set("sign"),
		"github.com/creack/pty":                           set("internal/testkit"),
		"github.com/go-git/go-billy/v5":                   set("packages/source/git"), // the file system that go-git's storage wants
		"github.com/go-git/go-git/v5":                     set("packages/source/git", "internal/testkit"),
		"github.com/modelcontextprotocol/go-sdk":          set("mcpserve", "internal/mcpclient", "internal/bench/hello"),
		"github.com/JohannesKaufmann/html-to-markdown/v2": set("internal/applet"),
		"github.com/sourcegraph/jsonrpc2":                 set("internal/applet"),
		"github.com/pelletier/go-toml/v2":                 set("internal/tomlx"),
		"github.com/santhosh-tekuri/jsonschema/v6":        set("internal/schema"),
		"github.com/sigstore/sigstore":                    set("sign"),
		"github.com/urfave/cli/v2":                        set("cmd/rye"),
		"golang.org/x/crypto":                             set("sign"),
		"golang.org/x/mod":                                set("item", "lock", "bundle"),
		"golang.org/x/net/html":                           set("internal/applet"),
		"golang.org/x/sync":                               set("verify", "internal/search", "packages/source"),
		"golang.org/x/sys":                                set("internal/proc", "internal/openat"),
		"golang.org/x/term":                               set("cmd/rye"),
		"gopkg.in/yaml.v3":                                set("internal/yamlx"),
	}
}

// testOnly are modules that any test may import and no room.
func testOnly() map[string]bool { return set("github.com/rogpeppe/go-internal") }

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
