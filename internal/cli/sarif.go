package cli

import (
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// The part of SARIF 2.1.0 that findings need. Names and nesting are those of
// the format.
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
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// homepage is the address of the program for readers of SARIF.
const homepage = "https://github.com/ryeos/rye"

// newSARIF makes the document: a rule for every code, a result for every
// finding. locate returns the path from the top of the repository, and false
// for a path outside of it.
func newSARIF(fs []diag.Finding, locate func(string) (string, bool)) sarifLog {
	driver := sarifDriver{Name: "rye", Version: ReadVersion().Version, InformationURI: homepage}
	index := map[diag.Code]int{}
	for i, row := range diag.Table() {
		index[row.Code] = i
		driver.Rules = append(driver.Rules, sarifRule{ID: string(row.Code), ShortDescription: sarifText{row.When},
			Help: sarifText{CodeHint(row.Code)}, Default: sarifSeverity{"error"}})
	}
	results := make([]sarifResult, len(fs))
	for i, f := range fs {
		results[i] = sarifResult{RuleID: string(f.Code), RuleIndex: index[f.Code], Level: string(f.Severity),
			Message: sarifText{sarifMessage(f)}, Locations: sarifPlace(f, locate)}
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		// Columns are numbers of bytes. After letters other than ASCII, readers
		// that expect characters show them too far right.
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}
}

func sarifMessage(f diag.Finding) string {
	text := hidden.Visible(f.Message)
	if fix := fixOf(f); fix != "" {
		text += " (" + hidden.Visible(fix) + ")"
	}
	return text
}

func sarifPlace(f diag.Finding, locate func(string) (string, bool)) []sarifLocation {
	if f.Path == "" {
		return nil
	}
	file, inRepo := locate(f.Path)
	if !inRepo {
		return []sarifLocation{{Logical: []sarifLogical{{hidden.Visible(f.Path)}}}}
	}
	segments := strings.Split(file, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	p := &sarifPhysical{Artifact: sarifArtifact{URI: strings.Join(segments, "/"), URIBaseID: "%SRCROOT%"}}
	if f.Line > 0 {
		p.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	}
	return []sarifLocation{{Physical: p}}
}
