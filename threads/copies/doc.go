// Package copies has the working copies of an opened project's threads: it makes, opens, compares,
// applies and removes them, and reads the logs that state which threads still need one.
//
// It copies no file itself: package workcopy does.
package copies
