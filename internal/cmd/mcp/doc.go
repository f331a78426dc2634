// Package mcp has the commands for external MCP servers: rye mcp.
//
// It is not a server; package serve is.
package mcp
