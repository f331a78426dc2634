package sandbox

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Layer is one means of isolation of this system.
type Layer struct {
	Name string `json:"name"` // as in Report.Layers, without the version
	OK   bool   `json:"ok"`
	// Why states what the system lacks, or with OK a fact such as the version.
	Why string `json:"why,omitempty"`
}

// Ladder is what this system can enforce.
type Ladder struct {
	Layers []Layer `json:"layers"`
	Best   Rung    `json:"best"` // the strongest rung that has all of its layers
	cgroup *delegation
}

// delegation is a cgroup of Linux in which this process may create others.
type delegation struct {
	dir          string
	memory, pids bool // the controllers that its children have
}

// Names of layers.
const (
	layerUser     = "userns"
	layerMount    = "mountns"
	layerPID      = "pidns"
	layerNet      = "netns"
	layerIPC      = "ipcns"
	layerUTS      = "utsns"
	layerLandlock = "landlock"
	layerSeccomp  = "seccomp"
	layerRlimits  = "rlimits"
	layerCgroup   = "cgroup"
)

// MissingEntries is in Report.Missing if a program cannot create entries directly in a
// writable directory that contains protected paths: Landlock grants the existing ones.
const MissingEntries = "mountns: new entries in the project root"

func namespaces() []string {
	return []string{layerUser, layerMount, layerPID, layerNet, layerIPC, layerUTS}
}

// Has reports whether a layer works on this system.
func (l Ladder) Has(name string) bool {
	return slices.ContainsFunc(l.Layers, func(layer Layer) bool {
		return layer.Name == name && layer.OK
	})
}

// Enforces returns nil if this system can enforce a network mode, else SANDBOX_UNAVAILABLE.
func (l Ladder) Enforces(net string) error {
	_, err := l.choose(Grant{Net: net})
	return err
}

// choose returns the rung for a grant: the wanted one, or the best that can enforce the
// network mode.
func (l Ladder) choose(g Grant) (Rung, error) {
	wanted := g.Rung
	if wanted == "" {
		wanted = l.Best
	}
	if wanted == Landlock && (g.Net == "hosts" || g.Net == "loopback") {
		return "", l.unavailable(Strict, "net: "+g.Net+" needs a network namespace")
	}
	if wanted == Basic && g.Net == "hosts" { // the proxy is reached inside a network namespace
		return "", l.unavailable(Strict, "net: hosts needs a network namespace")
	}
	if wanted == Basic && g.Net != "any" && g.Rung == "" {
		return Basic, nil // the caller asks the user: nothing isolates the network
	}
	if !l.reaches(wanted) {
		return "", l.unavailable(wanted, "")
	}
	return wanted, nil
}

// AtMost returns l without the rungs above a rung; "" keeps all. It exists for tests of
// the weaker rungs on a system that has the stronger ones.
func (l Ladder) AtMost(r Rung) Ladder {
	if r != "" && l.reaches(r) {
		l.Best = r
	}
	return l
}

// reaches reports whether the system has all layers of a rung.
func (l Ladder) reaches(r Rung) bool {
	order := []Rung{Basic, Landlock, Strict}
	return slices.Index(order, l.Best) >= slices.Index(order, r)
}

// unavailable returns SANDBOX_UNAVAILABLE with the layers of this system.
func (l Ladder) unavailable(wanted Rung, why string) error {
	var has, missing []string
	for _, layer := range l.Layers {
		if layer.OK {
			has = append(has, layer.Name)
			continue
		}
		missing = append(missing, layer.Name+": "+layer.Why)
	}
	if why == "" {
		why = "this system lacks " + strings.Join(missing, "; ")
	}
	return diag.New(diag.SandboxUnavailable, "preparing the sandbox: the rung %s cannot be reached: %s", wanted, why).
		WithReason("sandbox_rung").
		WithDetail("wanted", string(wanted)).
		WithDetail("layers", has).
		WithDetail("missing", missing)
}

// named returns the names of layers as reports have them: with the version of Landlock.
func landlockName(abi int) string {
	return layerLandlock + ":" + strconv.Itoa(abi)
}
