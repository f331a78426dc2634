// Package gateway has the row of rye gateway, whose commands are in rye-server.
//
// It serves nothing.
package gateway

import "github.com/ryeos/rye/internal/cli"

// Command returns the row of the gateway with its commands.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "gateway",
		Group: "Items",
		Usage: "serve threads to people and programs: web pages and an API",
		// A test compares the rows with the commands of rye-server.
		Subs: cli.Delegated([]cli.Row{
			{Name: "serve", Usage: "serve the pages and the API"},
			{Name: "open", Usage: "sign the browser of this computer in"},
			{Name: "key", Usage: "make, list and revoke keys for the gateway"},
			{Name: "audit", Usage: "print who requested changes through the gateway"},
		}),
	}
}
