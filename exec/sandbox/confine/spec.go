// Package confine is the helper process of package sandbox: it applies the restrictions
// of a Spec to itself, starts the program, ends it with all its children, and reports
// the outcome.
//
// It decides nothing: the process that started it has turned the profile into steps.
// The program starts with all restrictions of the Spec, or not at all.
//
// The package has an init function, unlike the others of this program, because the
// helper is the same executable: the other packages need several milliseconds to
// initialise, for every program that is started. It must import few packages, so that
// it is initialised before them.
package confine

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Command is the first argument of the helper.
const Command = "sandbox-helper"

// Descriptors of the helper. Those of the program follow Report.
const (
	SpecFD   = 3 // a Spec as JSON, from the beginning
	ReportFD = 4 // a socket that keeps the limits of messages: each is a Message
)

// Failed is the exit status of the helper if a step failed.
const Failed = 125

// Text is a string of the operating system. Its JSON keeps bytes that are not UTF-8.
type Text string

// MarshalJSON writes a string, or "\x00" and base64: no path, argument or variable
// contains NUL.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal("\x00" + base64.StdEncoding.EncodeToString([]byte(t)))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if encoded, ok := strings.CutPrefix(s, "\x00"); ok {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		*t = Text(raw)
		return err
	}
	*t = Text(s)
	return nil
}

// Texts converts strings.
func Texts(list []string) []Text {
	out := make([]Text, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return out
}

func plain(list []Text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}

// Spec is what the helper does, in the order of the fields.
type Spec struct {
	Namespaces bool   `json:"namespaces"` // the helper is process 1 of its own namespaces
	Mounts     []Step `json:"mounts,omitempty"`

	Loopback bool `json:"loopback,omitempty"` // set the loopback interface up
	Listen   int  `json:"listen,omitempty"`   // port on 127.0.0.1 whose listener goes to the parent; 0 means none

	Landlock *Ruleset `json:"landlock,omitempty"`
	Rlimits  []Rlimit `json:"rlimits,omitempty"`
	Filter   []uint64 `json:"filter,omitempty"` // the seccomp filter, one instruction each
	Watch    Watch    `json:"watch"`

	Path  Text   `json:"path"`
	Argv  []Text `json:"argv"`
	Env   []Text `json:"env"`
	Dir   Text   `json:"dir"`
	Files int    `json:"files,omitempty"` // descriptors after ReportFD that the program gets, from 3

	// Linger is how long, in milliseconds, children that have an output of the program
	// open may run after its end. Grace is how long it may run after SIGTERM.
	Linger int64 `json:"linger,omitempty"`
	Grace  int64 `json:"grace,omitempty"`
}

// Step is one change of the mount namespace. The new root is an empty file system; the
// old one is not visible in it, except through steps.
type Step struct {
	Do   Op     `json:"do"`
	Dst  Text   `json:"dst"`            // in the new root
	Src  Text   `json:"src,omitempty"`  // in the old root, without links; of Symlink the target; of TmpDir a name
	Size int64  `json:"size,omitempty"` // of Tmp in bytes; of Proc the highest process number of the namespace, if not 0
	Mode uint32 `json:"mode,omitempty"`
}

// Op is the operation of a Step. Bind steps create a missing mount point.
type Op string

// Operations.
const (
	MakeDir  Op = "dir"
	Symlink  Op = "link"
	ReadOnly Op = "ro"   // bind with everything that is mounted below
	Writable Op = "rw"   // the same, writable
	Device   Op = "dev"  // bind of a device file
	MaskFile Op = "hide" // an empty file in place of one
	MaskDir  Op = "void" // an empty directory in place of one
	Tmp      Op = "tmp"  // a file system in memory of Size bytes, for the TmpDir steps
	TmpDir   Op = "tmpdir"
	Proc     Op = "proc"
)

// Ruleset is a Landlock ruleset.
type Ruleset struct {
	ABI    int    `json:"abi"`
	FS     uint64 `json:"fs"`     // handled rights
	Net    uint64 `json:"net"`    // handled rights, without rules
	Scoped uint64 `json:"scoped"` // ABI 6
	Rules  []Rule `json:"rules"`
}

// Rule grants rights below a path of the new root.
type Rule struct {
	Path   Text   `json:"path"`
	Access uint64 `json:"access"`
}

// Rlimit is a limit of setrlimit.
type Rlimit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
	Hard     uint64 `json:"hard"`
	// Own adds the threads of the helper to the limit, which includes them.
	Own bool `json:"own,omitempty"`
	// Child keeps the limit from the helper, which could not live under it.
	Child bool `json:"child,omitempty"`
}

// Watch are the limits that the helper measures for the program and all its children
// together; 0 means none. Exceeding one ends them.
type Watch struct {
	Every     int64 `json:"every"` // milliseconds between measurements
	CPU       int64 `json:"cpu_seconds,omitempty"`
	Memory    int64 `json:"memory,omitempty"` // bytes
	Processes int64 `json:"processes,omitempty"`
	Disk      int64 `json:"disk,omitempty"` // bytes
}

// Message is what the helper reports: exactly one of its fields is set. Without
// Starting or End, the process was not the helper, or failed before it could report.
type Message struct {
	Starting  bool     `json:"starting,omitempty"` // of a helper that becomes the program: the next step is exec
	Failure   *Failure `json:"failure,omitempty"`
	Listening bool     `json:"listening,omitempty"` // with the listener's descriptor
	Exited    bool     `json:"exited,omitempty"`    // the program has ended, its children perhaps not
	End       *End     `json:"end,omitempty"`
}

// Failure is the step that failed. The program was not started.
type Failure struct {
	Step  string `json:"step"` // mounts, network, landlock, rlimits, seccomp, exec
	What  string `json:"what"`
	Errno int    `json:"errno"`
}

// End is how the program ended.
type End struct {
	Code     int    `json:"code"`
	Signal   int    `json:"signal,omitempty"`
	MaxRSS   int64  `json:"max_rss"` // bytes, of the largest process
	CPU      int64  `json:"cpu_ms"`
	Exceeded string `json:"exceeded,omitempty"` // the key of the limit
	Measured int64  `json:"measured,omitempty"` // in the unit of the key
}
