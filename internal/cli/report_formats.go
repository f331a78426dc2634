package cli

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// formats are the forms of a report of findings.
func formats() []string {
	return []string{"human", "json", "sarif", "github"}
}

// Format checks the value of --format; "json" has the effect of --json.
func (c *Call) Format(f string) (string, error) {
	switch {
	case f == "" || f == "human":
		return "human", nil
	case f == "json":
		c.UI.AsJSON = true
		return "human", nil
	case f != "sarif" && f != "github":
		e := diag.New(diag.Usage, "reading flag --format: %q is not one of %s", f, strings.Join(formats(), ", "))
		if near := Nearest(f, formats()); near != "" {
			return "", e.WithReason("nearest").WithDetail("nearest", near)
		}
		return "", e
	case c.UI.AsJSON:
		return "", diag.New(diag.Usage, "reading arguments: --json and --format %s exclude each other", f)
	}
	return f, nil
}

// Annotations prints the findings as commands that GitHub shows at the
// lines of a pull request. One finding is one line.
func (u *UI) Annotations(fs []diag.Finding, locate Locate) {
	for _, f := range fs {
		level := "error"
		if f.Severity == diag.SeverityWarning {
			level = "warning"
		}
		file, line, column := position(f, locate)
		props := []string{"file=" + property(file), fmt.Sprintf("line=%d", line)}
		if column > 0 {
			props = append(props, fmt.Sprintf("col=%d", column))
		}
		props = append(props, "title="+property(string(f.Code)))
		text := located(f, locate)
		if fix := fixOf(f); fix != "" {
			text += "\n" + fix
		}
		fmt.Fprintf(u.Stdout, "::%s %s::%s\n", level, strings.Join(props, ","), message(text))
	}
}

// message escapes the text of a command, property its part before the text.
func message(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.NewReplacer("%", "%25", "\r", "%0D").Replace(hidden.Visible(l))
	}
	return strings.Join(lines, "%0A")
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(hidden.Visible(s))
}

// fixOf returns the advice about a finding.
func fixOf(f diag.Finding) string {
	if f.Fix != "" {
		return f.Fix
	}
	return CodeHint(f.Code)
}

// Sarif prints the findings as one document of SARIF 2.1.0.
func (u *UI) Sarif(fs []diag.Finding, locate Locate) error {
	return u.encode(newSARIF(fs, locate))
}
