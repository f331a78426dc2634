package main

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSameDay waits for the next day of UTC if this one ends soon: what the script spends
// is then counted for one day.
func cmdSameDay(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 0, "sameday")
	sameDay()
}

func sameDay() {
	if left := time.Until(time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)); left < time.Minute {
		time.Sleep(left)
	}
}

// cmdMoment sets a variable to an instant, given in full or as a length of time
// from now.
func cmdMoment(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "moment VARIABLE TIME")
	ts.Setenv(args[0], instant(ts, args[1], "").Format(time.RFC3339))
}
