// Package ledger opens the ledger of the user for an opened project: the accounts of its threads and
// of its runs of graphs, and the tokens of threads.
//
// It stores nothing itself: package store does.
package ledger
