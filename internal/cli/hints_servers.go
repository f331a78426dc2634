package cli

import "github.com/ryeos/rye/diag"

// serverHints are those of rye serve and rye mcp.
func serverHints() map[situation]string {
	return map[situation]string{
		{diag.ConsentRequired, "mcp_review"}: "review the output, then run the command again with --yes",
		{diag.Network, "address"}:            "name a free port or HOST:PORT with --http",
		{diag.Network, "port_in_use"}:        "choose another port with --http, or --http 0 for any free port",
		{diag.Network, "port_privileged"}:    "choose a port above 1023 with --http",
		{diag.Usage, "address"}:              "name a port up to 65535 or HOST:PORT, such as --http 127.0.0.1:7333",
		{diag.Usage, "capabilities"}:         "name verbs such as search,load, or capabilities such as rye.execute.tool.gh.*",
		{diag.Usage, "header_variable"}:      "write --header-env NAME=VARIABLE",
		{diag.Usage, "mcp_no_command"}:       "rye mcp add {name} -- COMMAND ARGS…",
		{diag.Usage, "mcp_refresh_which"}:    "rye mcp list shows the names",
		{diag.Usage, "mcp_no_name"}:          "rye mcp add NAME -- COMMAND, or rye mcp add NAME --url URL",
		{diag.Usage, "nearest_url"}:          "did you mean --url {nearest}?",
		{diag.Usage, "origin"}:               "write a scheme and a host, such as https://ide.example",
		{diag.Usage, "token_missing"}:        "(umask 077; openssl rand -hex 32 > {file})",
		{diag.Usage, "token_mode"}:           "chmod 600 {file}",
		{diag.Usage, "url"}:                  "write a URL such as https://docs.example.com/mcp; a local server is added with NAME -- COMMAND",
	}
}
