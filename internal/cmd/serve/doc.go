// Package serve has the command rye serve, which serves the verbs of rye to agents.
//
// It does not implement the protocol: mcpserve does.
package serve
