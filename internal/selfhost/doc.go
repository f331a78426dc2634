// Package selfhost holds the tests of the claim that the runtime runs on
// itself: what decides is an item that a project may replace, what does not is
// listed as sealed, and nothing falls back in silence.
//
// It has no code of its own and nobody imports it.
package selfhost
