package cli

import (
	"strconv"
)

// exitCode is one exit status and its meaning.
type exitCode struct {
	Status  int    `json:"status"`
	Meaning string `json:"meaning"`
}

// ExitCodes lists every status, in order.
func ExitCodes() []exitCode {
	return []exitCode{
		{0, "success"},
		{1, "the work ran and failed"},
		{2, "usage: the command line is wrong"},
		{3, "drift: a lock is missing or stale, or a check found differences"},
		{4, "not found, or resolution has no single answer"},
		{5, "integrity: bytes are not what was signed or recorded"},
		{6, "history alarm: a tag moved, a log forked, a sum changed"},
		{7, "signature or trust: no valid signature by a trusted key"},
		{8, "denied by capability, policy, approval or sandbox"},
		{9, "network: the other side failed"},
		{10, "authentication is needed or was refused"},
		{11, "a limit or budget is reached"},
		{70, "a bug in rye"},
		{ExitInterrupted, "interrupted"},
	}
}

// ExitMeaning returns the meaning of an exit status, "" for an unknown one.
func ExitMeaning(status int) string {
	for _, e := range ExitCodes() {
		if e.Status == status {
			return e.Meaning
		}
	}
	return ""
}

// Itoa returns a number as text.
func Itoa(n int) string {
	return strconv.Itoa(n)
}
