package sandbox

import "github.com/ryeos/rye/exec/sandbox/confine"

func (w *wrapped) landlock() error { return w.ladder.unavailable(Landlock, "not yet") }

func (w *wrapped) executables(r *confine.Ruleset) {}
