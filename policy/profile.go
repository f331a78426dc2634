package policy

import (
	"encoding/json"
	"slices"
)

// Profile is what one process may do: the key sandbox of an item, a ceiling or a
// default. A key that is absent states nothing: it permits everything in Tighten,
// and Fill replaces it.
//
// Tighten expects lists that are in the form of Normal, which ReadProfile returns.
type Profile struct {
	Read, Write *[]string // paths as CheckProfilePath accepts them; write implies read
	Net         string    // "" or one of the modes below
	Hosts       []string  // patterns as CheckHostPattern accepts them, for NetHosts; nil is absent
	Exec        *[]string // names of programs, or [ExecAny]; an empty list permits none
	Sockets     *[]string // Unix sockets that it may connect to, as paths of the same form; nil is absent
	// Git is what the process may do with a repository of the project: GitNone or GitCommit; ""
	// is absent, and means GitNone where nothing states it.
	Git    string
	Broker *bool
	Limits Limits
}

// Network modes of a Profile.
const (
	NetNone     = "none"
	NetLoopback = "loopback" // the children of the process, not the services of the host
	NetHosts    = "hosts"    // the listed hosts, through the proxy of rye
	NetAny      = "any"
)

// Values of Profile.Git.
const (
	GitNone   = "none"   // it reads the repository
	GitCommit = "commit" // it also makes commits, with an index of its own
)

// ExecAny permits every program.
// The class T2 excludes it by exec_any: a profile cannot express "any list".
const ExecAny = "any"

// Limits are the resource limits of one process and its children; zero is absent.
type Limits struct {
	CPUSeconds int64 `json:"cpu_seconds,omitempty"`
	MemoryMB   int64 `json:"memory_mb,omitempty"`
	Processes  int64 `json:"processes,omitempty"`
	OpenFiles  int64 `json:"open_files,omitempty"`
	FileSizeMB int64 `json:"file_size_mb,omitempty"`
	DiskMB     int64 `json:"disk_mb,omitempty"`
	Files      int64 `json:"files,omitempty"` // that it makes
}

// Limit is one key of Limits with its value.
type Limit struct {
	Name      string
	Value     *int64
	Low, High int64 // the accepted values
	Default   int64
}

// All returns the limits by name. Value points into l.
func (l *Limits) All() []Limit {
	return []Limit{
		{"cpu_seconds", &l.CPUSeconds, 1, 86_400, 30},
		{"memory_mb", &l.MemoryMB, 8, 1 << 20, 512},
		{"processes", &l.Processes, 1, 1 << 16, 64},
		{"open_files", &l.OpenFiles, 16, 1 << 20, 256},
		{"file_size_mb", &l.FileSizeMB, 1, 1 << 20, 256},
		{"disk_mb", &l.DiskMB, 1, 1 << 24, 1024},
		{"files", &l.Files, 1, 1 << 24, 65_536},
	}
}

// WithDefaults returns l with the default of each limit that is absent.
func (l Limits) WithDefaults() Limits {
	for _, limit := range l.All() {
		if *limit.Value == 0 {
			*limit.Value = limit.Default
		}
	}
	return l
}

// Fill returns p with the values of def for its absent keys. Apply it to the profile of
// an item before Tighten with ceilings: a ceiling has a value for most keys, and what a
// ceiling permits is not a default.
func (p Profile) Fill(def Profile) Profile {
	if p.Read == nil {
		p.Read = def.Read
	}
	if p.Write == nil {
		p.Write = def.Write
	}
	if p.Net == "" {
		p.Net = def.Net
	}
	if p.Hosts == nil {
		p.Hosts = def.Hosts
	}
	if p.Exec == nil {
		p.Exec = def.Exec
	}
	if p.Sockets == nil {
		p.Sockets = def.Sockets
	}
	if p.Sockets == nil { // an older configuration of the classes does not have the key
		p.Sockets = &[]string{}
	}
	if p.Git == "" {
		p.Git = def.Git
	}
	if p.Broker == nil {
		p.Broker = def.Broker
	}
	limits := def.Limits.All()
	for i, limit := range p.Limits.All() {
		if *limit.Value == 0 {
			*limit.Value = *limits[i].Value
		}
	}
	return p.Normal()
}

// wireProfile is a Profile as JSON and YAML spell it.
type wireProfile struct {
	FS    *wireFS  `json:"fs,omitempty"`
	Net   string   `json:"net,omitempty"`
	Hosts []string `json:"hosts,omitzero"`
	Exec  any      `json:"exec,omitempty"` // "any", "none" or a list
	// Sockets is left out if it is empty, so that results have it only where it matters.
	Sockets []string `json:"sockets,omitempty"`
	Git     string   `json:"git,omitempty"`
	Broker  *bool    `json:"broker,omitempty"`
	Limits  *Limits  `json:"limits,omitempty"`
}

type wireFS struct {
	Read  *[]string `json:"read,omitempty"`
	Write *[]string `json:"write,omitempty"`
}

// MarshalJSON writes the profile as the key sandbox of an item spells it.
func (p Profile) MarshalJSON() ([]byte, error) {
	w := wireProfile{
		Net:    p.Net,
		Hosts:  p.Hosts,
		Git:    p.Git,
		Broker: p.Broker,
	}
	if p.Read != nil || p.Write != nil {
		w.FS = &wireFS{Read: p.Read, Write: p.Write}
	}
	switch {
	case p.Exec == nil:
	case len(*p.Exec) == 0:
		w.Exec = execNone
	case slices.Contains(*p.Exec, ExecAny):
		w.Exec = ExecAny
	default:
		w.Exec = *p.Exec
	}
	if p.Sockets != nil {
		w.Sockets = *p.Sockets
	}
	if p.Limits != (Limits{}) {
		w.Limits = &p.Limits
	}
	return json.Marshal(w)
}
