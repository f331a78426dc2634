package main

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdMoment sets a variable to an instant, given in full or as a length of time
// from now.
func cmdMoment(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "moment VARIABLE TIME")
	ts.Setenv(args[0], instant(ts, args[1], "").Format(time.RFC3339))
}
