package cli

// NewTable returns an empty table of the program, by its name.
func NewTable(name string) *Table {
	t, ok := CommandTables()[name]
	if !ok {
		panic("rye: no table " + name)
	}
	return t
}

// CommandTables returns every table of the program, empty. The columns that a person looks for first
// are at the left, the long ones that few people read are at the right and have a rank.
func CommandTables() map[string]*Table {
	list := func(columns ...Column) *Table {
		return &Table{Columns: columns}
	}
	bare := func(columns ...Column) *Table {
		return &Table{Form: Bare, Columns: columns}
	}
	facts := func() *Table {
		return &Table{Form: Facts, Columns: []Column{{Name: "NAME"}, {Name: "VALUE", Cut: Wrap}}}
	}
	col := func(name string, rank, least int) Column {
		return Column{Name: name, Rank: rank, Min: least}
	}
	number := func(name string, rank int) Column {
		return Column{Name: name, Rank: rank, Min: 24}
	} // not cut
	mid := func(name string, rank, least int) Column {
		return Column{
			Name: name,
			Rank: rank,
			Min:  least,
			Cut:  Middle,
		}
	}
	wrap := func(name string, rank, least int) Column {
		return Column{
			Name: name,
			Rank: rank,
			Min:  least,
			Cut:  Wrap,
		}
	}
	wide := func(name string) Column {
		return Column{Name: name, Wide: true}
	}
	return map[string]*Table{
		// Items.
		"list": list(
			mid("ITEM", 0, 32),
			col("VERSION", 3, 7),
			col("SPACE", 2, 11),
			col("TRUST", 0, 9),
			col("DESCRIPTION", 1, 14),
		),
		"search": list(mid("ITEM", 0, 32), col("VERSION", 4, 7), col("SPACE", 3, 11), col("TRUST", 0, 9), number("SCORE", 5),
			col("DESCRIPTION", 1, 14)),
		"search registry": list(
			mid("ITEM", 0, 32),
			col("STATE", 0, 9),
			mid("SIGNER", 2, 16),
			number("SCORE", 3),
			col("DESCRIPTION", 1, 14),
		),
		"chain": list(col("", 0, 2), mid("ELEMENT", 0, 24), col("SPACE", 2, 10), col("VERSION", 3, 7), col("DIGEST", 4, 13),
			col("SIGNER", 0, 9)),
		"shadowed": list(
			mid("ITEM", 0, 20),
			mid("USED", 0, 16),
			col("TRUST", 0, 9),
			mid("HIDDEN", 1, 16),
		),
		"show":              facts(),
		"dry run":           facts(),
		"tools of a prompt": facts(),
		"config":            facts(),
		"origins": bare(
			wrap("KEY", 0, 16),
			wrap("VALUE", 0, 12),
			wrap("FROM", 0, 12),
		),
		"change": bare(
			wrap("KEY", 0, 16),
			wrap("OLD", 0, 12),
			col("", 0, 2),
			wrap("NEW", 0, 12),
		),
		"status": facts(),
		"doctor": bare(
			col("STATE", 0, 4),
			wrap("CHECK", 0, 12),
			wrap("DETAIL", 0, 20),
		),
		"hooks": facts(),
		"verified": bare(
			col("STATE", 0, 9),
			mid("FILE", 0, 20),
			col("SIGNER", 0, 9),
		),

		// Threads and runs.
		"threads": list(number("N", 0), mid("DIRECTIVE", 0, 12), col("STATE", 0, 22), number("AGE", 0), number("SPENT", 0), number("MAX", 2),
			number("TURNS", 3), col("NAME", 4, 12), wide("THREAD"), wide("PID"), wide("STARTED")),
		"chain of threads": list(
			mid("DIRECTIVE", 0, 16),
			col("STATE", 0, 12),
			number("TURNS", 1),
			number("SPENT", 0),
			wide("THREAD"),
		),
		"costs": list(number("N", 0), mid("DIRECTIVE", 0, 16), col("STATE", 0, 12), number("AGE", 1), number("CALLS", 2), number("SPENT", 0), number("RESERVED", 1),
			number("MAX", 0), wide("THREAD")),
		"cost": list(mid("MODEL", 0, 10), number("SPENT", 0), number("ASSUMED", 2), number("RESERVED", 1), number("MAX", 0),
			number("OVERSPENT", 3)),
		"cost of a tree": list(number("N", 0), mid("DIRECTIVE", 0, 16), number("CALLS", 2), number("SPENT", 0), number("ASSUMED", 3),
			number("RESERVED", 1), wide("THREAD")),
		"cost of a user": list(
			number("PERIOD", 0),
			number("SPENT", 0),
			number("RESERVED", 1),
			number("MAX", 0),
		),
		"runs": list(number("N", 0), mid("GRAPH", 0, 12), col("STATE", 0, 22), number("AGE", 0), mid("NODE", 1, 10), number("STEPS", 2),
			wide("RUN"), wide("STARTED")),
		"steps": bare(
			number("N", 0),
			number("TIME", 1),
			col("EVENT", 0, 18),
			wrap("TEXT", 0, 16),
		),
		"verified runs": bare(mid("RUN", 0, 20), wrap("LOG", 0, 20)),
		"thread":        facts(),
		"plan":          facts(),
		"server config": facts(),
		"gateway keys": list(
			col("ID", 0, 8),
			col("NAME", 0, 12),
			col("ROLE", 0, 8),
			col("STATE", 0, 10),
			wide("PROJECTS"),
		),
		"gateway audit": list(
			col("TIME", 0, 20),
			mid("KEY", 0, 12),
			wrap("REQUEST", 0, 20),
			col("STATUS", 1, 6),
			wide("ADDRESS"),
		),
		"waiting": list(number("N", 0), mid("DIRECTIVE", 0, 16), col("WAITING FOR YOU", 0, 20), number("AGE", 0), col("NAME", 2, 12),
			wide("THREAD"), wide("CALL")),
		"conversations": list(number("N", 0), col("NAME", 0, 12), col("STATE", 0, 18), number("AGE", 0), number("SPENT", 1), mid("DIRECTIVE", 2, 12),
			wide("THREAD")),
		"removed threads": bare(
			col("ACTION", 0, 12),
			mid("THREAD", 0, 16),
			col("KIND", 2, 9),
			wrap("UPDATED", 0, 16),
		),

		// Models.
		"providers": list(
			mid("PROVIDER", 0, 16),
			col("STATE", 0, 21),
			col("MODELS, OR WHY NOT", 1, 18),
		),
		"prices": list(mid("PROVIDER", 0, 12), mid("MODEL", 0, 16), number("INPUT", 0), number("CACHE READ", 3), number("CACHE WRITE", 4),
			number("OUTPUT", 0), number("AS OF", 2), col("SOURCE", 5, 12), col("PROBLEM", 1, 12)),
		"test call": list(
			col("CALL", 0, 8),
			mid("MODEL", 0, 16),
			number("TIME", 0),
			number("INPUT", 2),
			number("OUTPUT", 2),
			number("COST", 0),
		),
		"models": list(mid("MODEL", 0, 16), number("COMPLETED", 0), number("SAME OUTPUTS", 0), number("TURNS", 2), number("COST", 0),
			number("TIME", 1)),

		// Keys and trust.
		"keys": list(col("KEY", 0, 16), col("OWNER", 0, 10), col("STATE", 0, 7), number("UNTIL", 1), number("DAYS", 3),
			wrap("SCOPE", 2, 20), mid("FILE", 4, 16)),
		"trust": list(
			col("KEY", 0, 16),
			col("OWNER", 0, 8),
			col("TIER", 2, 10),
			col("STATE", 0, 7),
			number("UNTIL", 1),
			wrap("SCOPE", 0, 20),
		),
		"signatures": list(number("NUMBER", 0), number("TIME", 0), col("BY", 4, 5), col("USE", 3, 5), mid("WHAT", 0, 20), col("SPACE", 5, 7),
			col("KEY", 2, 16), mid("PROJECT", 6, 12)),

		// Bundles and registries.
		"bundles": list(
			mid("BUNDLE", 0, 24),
			col("VERSION", 0, 8),
			col("STATE", 0, 13),
			col("SIGNER", 1, 12),
		),
		"own bundles": list(
			mid("BUNDLE", 0, 20),
			col("VERSION", 0, 8),
			number("FILES", 2),
			col("SIGNED BY", 1, 12),
			col("STATE", 0, 10),
		),
		"files": bare(
			mid("FILE", 0, 20),
			col("MODE", 2, 6),
			col("DIGEST", 1, 13),
		),
		"outdated": list(
			mid("BUNDLE", 0, 20),
			col("LOCKED", 0, 8),
			col("NEWEST", 0, 8),
			wrap("REMARK", 0, 12),
		),
		"rules": bare(
			wrap("RULE", 0, 8),
			wrap("KEY", 0, 12),
			wrap("VALUE", 0, 12),
			wrap("FROM", 1, 12),
		),
		"policy": bare(
			wrap("KEY", 0, 16),
			wrap("VALUE", 0, 12),
			wrap("FROM", 1, 12),
		),
		"bundle":               facts(),
		"release":              facts(),
		"bundle of a registry": facts(),
		"cache":                facts(),
		"registries": list(
			mid("HOST", 0, 16),
			mid("LOG KEY", 2, 12),
			number("WITNESSES", 1),
			col("STATE", 0, 12),
		),
		"registry reports": bare(
			number("NUMBER", 0),
			number("DATE", 1),
			mid("BUNDLE", 0, 16),
			col("VERSION", 2, 7),
			wrap("TEXT", 0, 16),
		),

		// MCP servers.
		"servers": list(
			mid("NAME", 0, 16),
			col("SPACE", 3, 8),
			col("TOOLS", 2, 7),
			col("STATE", 0, 8),
			mid("REACHED BY", 1, 20),
		),
		"server":    facts(),
		"offer":     facts(),
		"mcp tools": facts(),
	}
}
