package cli

import (
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// The part of SARIF 2.1.0 that findings need, with the names and nesting of the format.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string        `json:"id"`
		ShortDescription sarifText     `json:"shortDescription"`
		FullDescription  sarifText     `json:"fullDescription"`
		Help             sarifText     `json:"help"`
		Default          sarifSeverity `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifSeverity struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// homepage is the address of the program for readers of SARIF.
const homepage = "https://github.com/ryeos/rye"

// Locate returns the path of a finding's file from the top of the repository. For a
// path outside of it, and none, it returns a file of the project, and false: code
// scanning rejects a whole report for one result without a file.
type Locate func(path string) (file string, inRepo bool)

// newSARIF makes the document: a rule for every code, a result for every finding.
func newSARIF(fs []diag.Finding, locate Locate) sarifLog {
	driver := sarifDriver{Name: "rye", Version: ReadVersion().Version, InformationURI: homepage}
	if driver.Version == "" || driver.Version[0] == '(' { // readers compare versions by their numbers
		driver.Version = "0.0.0-" + strings.Trim(driver.Version, "()")
	}
	index := map[diag.Code]int{}
	for i, row := range diag.Table() {
		index[row.Code] = i
		driver.Rules = append(driver.Rules, newSARIFRule(row))
	}
	results := make([]sarifResult, len(fs))
	for i, f := range fs {
		results[i] = sarifResult{
			RuleID:    string(f.Code),
			RuleIndex: index[f.Code],
			Level:     string(f.Severity),
			Message:   sarifText{sarifMessage(f, locate)},
			Locations: []sarifLocation{sarifPlace(f, locate)},
		}
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		// Columns are numbers of bytes. After letters other than ASCII, readers
		// that expect characters show them too far right.
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}
}

// newSARIFRule returns the rule of a code. Readers want sentences.
func newSARIFRule(row diag.Row) sarifRule {
	when := strings.ToUpper(row.When[:1]) + row.When[1:] + "."
	rule := sarifRule{
		ID:               string(row.Code),
		ShortDescription: sarifText{when},
		FullDescription:  sarifText{when},
		Default:          sarifSeverity{"error"},
	}
	rule.Help = sarifText{"See docs/reference/errors.md."}
	if hint := CodeHint(row.Code); hint != "" {
		if strings.HasPrefix(hint, "rye ") {
			hint = "run `" + hint + "`"
		}
		rule.Help = sarifText{strings.ToUpper(hint[:1]) + hint[1:] + "."}
		rule.FullDescription.Text += " What to do: " + hint + "."
	}
	return rule
}

func sarifMessage(f diag.Finding, locate Locate) string {
	text := hidden.Visible(located(f, locate))
	if fix := fixOf(f); fix != "" {
		text += " (" + hidden.Visible(fix) + ")"
	}
	return text
}

// located returns the message of a finding, with its path if its position is in a different
// file.
func located(f diag.Finding, locate Locate) string {
	_, inRepo := locate(f.Path)
	if !inRepo && f.Path != "" {
		return f.Location() + ": " + f.Message
	}
	return f.Message
}

// position returns the file, line and column of a finding. A finding about a whole
// file is at its first line, and so is one about a file outside of the repository.
func position(f diag.Finding, locate Locate) (file string, line, column int) {
	file, inRepo := locate(f.Path)
	if !inRepo || f.Line == 0 {
		return file, 1, 0
	}
	return file, f.Line, f.Column
}

func sarifPlace(f diag.Finding, locate Locate) sarifLocation {
	file, line, column := position(f, locate)
	segments := strings.Split(file, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return sarifLocation{sarifPhysical{
		Artifact: sarifArtifact{URI: strings.Join(segments, "/"), URIBaseID: "%SRCROOT%"},
		Region:   sarifRegion{StartLine: line, StartColumn: column},
	}}
}
