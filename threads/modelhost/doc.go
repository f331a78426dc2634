// Package modelhost has the provider items of an opened project: which exist and whether they can be
// used here, the keys that they need, and the prices that config:agent/prices sets for their models.
//
// It calls no service except to ask whether it is there: package threadhost calls models.
package modelhost
