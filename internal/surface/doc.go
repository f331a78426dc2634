// Package surface opens projects for agents: for the MCP server, and for a program that a
// tool starts. It has the workspace of their verbs and the external MCP servers of tools.
//
// It does not speak MCP; packages mcpserve and mcpclient do.
package surface
