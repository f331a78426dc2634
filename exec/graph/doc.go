// Package graph runs state graphs: workflows in a tool item, whose nodes call other
// items, and whose state is what a durable log states. It parses the item, checks it,
// walks it, and resumes a run from its log after a stop at any instant.
//
// It calls items through a Dispatcher, which checks permissions, signatures and the
// lock for each call. It opens no project, asks no person by itself, and has no model.
//
// One flush of the log has the result of a node and the start of the next one, before that has
// an effect. A power loss between the two repeats the node; a killed process loses neither.
package graph
