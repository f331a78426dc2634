package steps

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/tree"
)

// Wait is one form in which services state when the next request is accepted.
type Wait struct {
	ID      string
	Path    string         // of a text or a number in the facts of the error
	Pattern *regexp.Regexp // finds the time in the text; nil is all of it
	As      string         // seconds, milliseconds or epoch: the meaning of a number without a unit
	Zone    *time.Location // of a date without one

	when *cond.Cond // nil applies always
}

// maxWait bounds a stated time: a longer one is not a wait.
const maxWait = 366 * 24 * time.Hour

// readWaits reads the forms of config:agent/error_classification.
func readWaits(r *tree.Reader) (out []Wait) {
	for _, m := range r.Maps("waits") {
		m.Only("id", "path", "pattern", "as", "zone", "when", "description")
		m.Require("id", "path")
		w := Wait{
			ID:   m.Text("id"),
			Path: m.Text("path"),
			As:   m.Enum("as", "seconds", "seconds", "milliseconds", "epoch"),
			Zone: time.UTC,
		}
		if s := m.Text("pattern"); s != "" {
			w.Pattern = oneGroup(m, "pattern", s)
		}
		if s := m.Text("zone"); s != "" {
			at, err := time.Parse("-07:00", s)
			if err != nil {
				m.Reject("zone", "must be a difference to UTC such as \"+08:00\", not %q", s)
			} else {
				w.Zone = at.Location()
			}
		}
		if v := m.Value("when"); v != nil {
			var fs []diag.Finding
			w.when, fs = cond.Compile(
				r.Doc(),
				m.Path("when"),
				m.Name("when"),
				v,
				diag.ConfigError,
			)
			for _, f := range fs {
				m.Add(f)
			}
		}
		out = append(out, w)
	}
	return out
}

// stated returns the time that the service asks to wait, by the first form that applies.
func (c *Classes) stated(scope map[string]any, now time.Time) (time.Duration, bool) {
	for i := range c.Waits {
		w := &c.Waits[i]
		if !w.when.Match(scope) {
			continue
		}
		d, ok := w.read(valueAt(scope, w.Path), now)
		if ok {
			return d, true
		}
	}
	return 0, false
}

// valueAt returns the value at a path of names, divided by points.
func valueAt(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (w *Wait) read(v any, now time.Time) (time.Duration, bool) {
	if n, ok := number(v); ok {
		return w.number(n, now)
	}
	text, _ := v.(string)
	if w.Pattern != nil {
		m := w.Pattern.FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		text = m[1]
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return w.number(n, now)
	}
	if d, ok := spelled(text); ok {
		return d, d <= maxWait
	}
	for _, layout := range []string{time.RFC3339, time.RFC1123, "2006-01-02 15:04:05"} {
		at, err := time.ParseInLocation(layout, text, w.Zone)
		if err == nil {
			return max(at.Sub(now), 0), at.Sub(now) <= maxWait
		}
	}
	return 0, false
}

func (w *Wait) number(n float64, now time.Time) (time.Duration, bool) {
	if w.As == "epoch" {
		if n > 1e11 { // milliseconds
			n /= 1000
		}
		n -= float64(now.UnixMilli()) / 1000
		n = max(n, 0)
	}
	if w.As == "milliseconds" {
		n /= 1000
	}
	if n < 0 || n > maxWait.Seconds() {
		return 0, false
	}
	return time.Duration(n * float64(time.Second)), true
}

// spelled reads a time such as 1m2.5s, 541 hours 28 minutes, or 500ms.
func spelled(text string) (sum time.Duration, ok bool) {
	units := map[string]time.Duration{
		"ms": time.Millisecond, "millisecond": time.Millisecond, "s": time.Second, "sec": time.Second, "second": time.Second,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute, "h": time.Hour, "hr": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
	}
	rest := strings.ToLower(text)
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool {
			return (r < '0' || r > '9') && r != '.'
		})
		if digits <= 0 {
			return 0, false
		}
		n, err := strconv.ParseFloat(rest[:digits], 64)
		rest = strings.TrimLeft(rest[digits:], " ")
		end := strings.IndexFunc(rest, func(r rune) bool {
			return r < 'a' || r > 'z'
		})
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		unit := units[name]
		if unit == 0 {
			unit = units[strings.TrimSuffix(name, "s")]
		}
		if err != nil || unit == 0 || n*float64(unit) > float64(maxWait) {
			return 0, false
		}
		sum += time.Duration(n * float64(unit))
		rest = strings.TrimLeft(rest[end:], " ,")
		rest = strings.TrimPrefix(rest, "and ")
	}
	return sum, sum > 0
}

// notice states when the service accepts the next request, for the person who reads the error.
func notice(wait time.Duration, now time.Time) string {
	return fmt.Sprintf(
		"; the service accepts the next request in %s, on %s",
		wait.Round(time.Second),
		now.Add(wait).UTC().Format("2006-01-02 at 15:04:05 UTC"),
	)
}
