package cli

import "github.com/ryeos/rye/diag"

// ExitInterrupted is the status after an interrupt at the terminal.
const ExitInterrupted = 130

// ExitStatus returns the exit status of a code. It depends on the class only.
// ANSWER_EMPTY has the status of remote errors, ANSWER_CUT the status of limits, so that a script
// distinguishes them from a refusal.
func ExitStatus(c diag.Code) int {
	return classStatus(c.Class())
}

func classStatus(c diag.Class) int {
	switch c {
	case diag.ClassUsage:
		return 2
	case diag.ClassDrift:
		return 3
	case diag.ClassNotFound, diag.ClassUnresolvable:
		return 4
	case diag.ClassIntegrity:
		return 5
	case diag.ClassHistory:
		return 6
	case diag.ClassTrust:
		return 7
	case diag.ClassDenied:
		return 8
	case diag.ClassRemote:
		return 9
	case diag.ClassAuth:
		return 10
	case diag.ClassLimit:
		return 11
	case diag.ClassBug:
		return 70
	}
	return 1
}
