package self

import "os"

// endSignals are the signals that cancel a run. The one that closes the console is not among them: as
// SIGHUP elsewhere it ends the process, and an open question stays open.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }
