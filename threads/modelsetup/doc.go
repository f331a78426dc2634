// Package modelsetup adds services of models to a user's configuration, tries them with a few
// calls that are in the ledger, and finds the ones that a person can use at the first run.
//
// It calls no model for a thread: package threadhost does.
package modelsetup
