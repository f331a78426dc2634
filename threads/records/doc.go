// Package records writes what stays of a run as a signed item of an opened project, removes old
// records, and has the filter that keeps secrets out of records and logs.
//
// It decides nothing about the content of a record: the run that writes it does.
package records
