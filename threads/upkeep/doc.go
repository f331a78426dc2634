// Package upkeep removes old threads and runs with their working copies, and makes the store of
// threads from the logs again.
//
// It decides no age: config:agent/records and the person do.
package upkeep
