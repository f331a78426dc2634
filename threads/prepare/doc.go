// Package prepare verifies a directive and selects what a thread of it uses: limits, permissions,
// models and their keys. A person sees the same as typed metadata.
//
// It starts nothing: package threadhost does.
package prepare
