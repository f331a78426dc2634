// Package report describes the components of a source that has no signature for rye: what
// a person should know before accepting its files.
//
// It finds patterns and no intentions. It runs nothing, and decides nothing about trust.
package report

import (
	"slices"
	"time"

	"github.com/ryeos/rye/internal/interop/scan"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Report is the description of one commit of a source. Its lists are sorted.
type Report struct {
	Source     string      `json:"source"`
	URL        string      `json:"url,omitempty"`
	Commit     string      `json:"commit,omitempty"`
	Made       time.Time   `json:"made,omitzero"` // as the commit states it
	Licence    string      `json:"licence,omitempty"`
	Components []Component `json:"components"`
	Left       []Left      `json:"left,omitempty"`
	Elsewhere  []Elsewhere `json:"elsewhere,omitempty"`
}

// Component is the description of one component.
type Component struct {
	Ref         string   `json:"component"`
	From        string   `json:"from"`
	Files       int      `json:"files"`
	Size        int64    `json:"size"`
	Description string   `json:"description,omitempty"`
	Plugins     []string `json:"plugins,omitempty"`
	Notes       []string `json:"notes,omitempty"` // deviations from the format

	Scripts     []Script `json:"scripts,omitempty"`
	Executables []string `json:"executables,omitempty"`
	Archives    []string `json:"archives,omitempty"`
	Asks        []string `json:"asks,omitempty"`        // fields that ask another program for permissions
	Runs        []string `json:"runs,omitempty"`        // programs, and "computed"
	Fetches     []string `json:"fetches,omitempty"`     // commands that fetch code
	Hosts       []string `json:"hosts,omitempty"`       // in commands and scripts
	TextHosts   []string `json:"text_hosts,omitempty"`  // in other texts only
	Environment []string `json:"environment,omitempty"` // names of variables
	Outside     []string `json:"outside,omitempty"`     // paths outside of the project
	Notices     []Notice `json:"notices,omitempty"`
}

// Script is a file that an interpreter runs.
type Script struct {
	Path     string `json:"path"`
	Language string `json:"language"`
}

// Notice is one match of a pattern that a person should read.
type Notice struct {
	ID    string `json:"id"`
	Path  string `json:"path"` // in the component
	Line  int    `json:"line"`
	Lines int    `json:"lines"` // of the match
	Text  string `json:"text"`
}

// Left is a component that cannot be used.
type Left struct {
	Ref  string `json:"component,omitempty"`
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Code string `json:"code"`
	Why  string `json:"why"`
}

// Elsewhere is a plugin in another source, which is not followed.
type Elsewhere struct {
	Plugin  string `json:"plugin"`
	Address string `json:"address"`
}

// Call is what a report is made of.
type Call struct {
	Report  Report // with the facts about the source
	Files   scan.Source
	Content *scan.Result
	Rules   *Rules
	Shell   *policy.Risk // reads commands
}

// Make returns the report of a source.
func Make(call Call) (*Report, error) {
	out := call.Report
	out.Licence = licenceOf(call.Files)
	// an empty list is a part of the canonical form
	out.Components = []Component{}
	for _, c := range call.Content.Found {
		one, err := call.describe(c)
		if err != nil {
			return nil, err
		}
		out.Components = append(out.Components, one)
	}
	for _, left := range call.Content.Left {
		out.Left = append(out.Left, Left{
			Ref:  left.Ref,
			Path: left.Finding.Path,
			Line: left.Finding.Line,
			Code: string(left.Finding.Code),
			Why:  left.Finding.Message,
		})
	}
	for _, p := range call.Content.Plugins {
		// nothing is transitive: a person adds the other source
		if p.Elsewhere != "" {
			out.Elsewhere = append(out.Elsewhere, Elsewhere{Plugin: p.Name, Address: p.Elsewhere})
		}
	}
	return &out, nil
}

// JSON returns the canonical form, whose digest a review states.
func (r *Report) JSON() ([]byte, error) {
	return jsonx.Marshal(r)
}

// Digest returns the digest of the canonical form.
func (r *Report) Digest() (item.Digest, error) {
	b, err := r.JSON()
	return item.DigestOf(b), err
}

// Only returns the report with the components that keep selects, and without the reasons
// about others.
func (r *Report) Only(keep func(ref string) bool) *Report {
	out := *r
	out.Left = nil
	out.Elsewhere = nil
	out.Components = slices.DeleteFunc(slices.Clone(r.Components), func(c Component) bool {
		return !keep(c.Ref)
	})
	return &out
}

// Denied returns the notices whose ids a policy refuses.
func (r *Report) Denied(ids []string) (out []Notice) {
	for _, c := range r.Components {
		for _, n := range c.Notices {
			if slices.Contains(ids, n.ID) {
				out = append(out, n)
			}
		}
	}
	return out
}
