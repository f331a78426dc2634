package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
)

// maxData is the size of data from which values become artifacts. Characters that a
// reader cannot see are escaped later, which makes a line longer.
const maxData = MaxLine / 4

// Artifact is a value that is in a file of its own. At is the path of the value in
// the data of its line.
type Artifact struct {
	At     []string `json:"at"`
	Digest string   `json:"digest"`
	Bytes  int      `json:"bytes"`
}

// artifactsKey is the key of the list of artifacts in the data of a line. It is not
// part of a value: a tool cannot name an artifact by its result.
const artifactsKey = "artifacts"

// reserved refuses data with the key of the list of artifacts: who reads them would look for
// artifacts that nothing wrote.
func reserved(event string, raw []byte) error {
	if !bytes.Contains(raw, []byte(`"`+artifactsKey+`"`)) {
		return nil
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(raw, &data); err != nil {
		return diag.New(diag.Internal, "recording the event %s: %w", event, err)
	}
	if _, has := data[artifactsKey]; has {
		return diag.New(diag.ValidationFailed, "recording the event %s: its data have the key %q, which is the log's own", event, artifactsKey).WithDetail("event", event)
	}
	return nil
}

// spill replaces large values of data, and of the objects in data, by artifacts.
func (l *Log) spill(raw []byte) ([]byte, error) {
	var data map[string]json.RawMessage
	if err := json.Unmarshal(raw, &data); err != nil {
		return nil, diag.New(diag.Internal, "recording a large event: %w", err)
	}
	const large = maxData / 64
	var list []Artifact
	for _, key := range sortedKeys(data) {
		if len(data[key]) <= large {
			continue
		}
		var inner map[string]json.RawMessage
		if data[key][0] == '{' &&
			json.Unmarshal(data[key], &inner) == nil &&
			small(inner, large) {
			for _, k := range sortedKeys(inner) {
				if len(inner[k]) <= large {
					continue
				}
				a, err := l.store(inner[k], key, k)
				if err != nil {
					return nil, err
				}
				list = append(list, a)
				delete(inner, k)
			}
			b, err := jsonx.Marshal(inner)
			if err != nil {
				return nil, diag.New(diag.Internal, "recording a large event: %w", err)
			}
			data[key] = b
			continue
		}
		a, err := l.store(data[key], key)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
		delete(data, key)
	}
	if len(list) == 0 {
		return raw, nil // a large key
	}
	b, err := jsonx.Marshal(list)
	if err != nil {
		return nil, diag.New(diag.Internal, "recording a large event: %w", err)
	}
	data[artifactsKey] = b
	return jsonx.Marshal(data)
}

// small reports whether an object is small enough for its line without its large
// values.
func small(m map[string]json.RawMessage, large int) bool {
	total := 0
	for k, v := range m {
		if total += len(k) + 4; len(v) <= large {
			total += len(v)
		}
	}
	return total < maxData/4
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// store writes an artifact, which is on the disk before the line that names it.
func (l *Log) store(value []byte, at ...string) (Artifact, error) {
	sum := sha256.Sum256(value)
	a := Artifact{At: at, Digest: "sha256:" + hex.EncodeToString(sum[:]), Bytes: len(value)}
	err := l.p.base().Write(artifactName(a.Digest), value, 0o600)
	if err != nil {
		return a, diag.Doing("storing an artifact of "+l.p.ID, err)
	}
	return a, nil
}

func artifactName(digest string) string {
	return ArtifactsDir + "/" + strings.TrimPrefix(digest, "sha256:") + ".json"
}

// Expand returns the data of a line with its artifacts in their positions. An artifact
// that is missing or altered is TRANSCRIPT_BROKEN.
func Expand(project, id string, line *Line) (map[string]any, error) {
	v, err := jsonx.Record(line.Data)
	data, ok := v.(map[string]any)
	if !ok {
		return nil, diag.New(diag.TranscriptBroken, "reading line %d: the data is not valid JSON: %v", line.Seq, err)
	}
	if data[artifactsKey] == nil {
		return data, nil
	}
	// Not by line.Decode, for which another key such as Artifacts is the same one.
	var list []Artifact
	b, err := jsonx.Marshal(data[artifactsKey])
	if err == nil {
		err = jsonx.Decode(b, &list)
	}
	if err != nil {
		return nil, diag.New(diag.TranscriptBroken, "reading the artifacts of line %d, event %s: %w", line.Seq, line.Event, err)
	}
	delete(data, artifactsKey)
	for _, a := range list {
		value, err := load(project, id, a)
		if err != nil {
			return nil, err
		}
		into := data
		for _, key := range a.At[:len(a.At)-1] {
			if into, ok = into[key].(map[string]any); !ok {
				return nil, diag.New(diag.TranscriptBroken, "reading line %d: the artifact %s has no position", line.Seq, a.Digest)
			}
		}
		into[a.At[len(a.At)-1]] = value
	}
	return data, nil
}

// load reads an artifact and compares it with its digest.
func load(project, id string, a Artifact) (any, error) {
	broken := func(format string, args ...any) error {
		e := diag.New(diag.TranscriptBroken, "reading an artifact: "+format, args...)
		return e.
			WithReason("transcript_artifact").
			WithDetail("path", Base(project, id).Path(artifactName(a.Digest)))
	}
	if !chainlog.IsDigest(a.Digest) || len(a.At) == 0 {
		return nil, broken("%q is not a digest, or it has no position", a.Digest)
	}
	b, _, err := openat.Read(
		project,
		Dir+"/"+id+"/"+artifactName(a.Digest),
		int64(a.Bytes),
	)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, broken("%s is missing", a.Digest)
	case err != nil:
		return nil, broken("%w", err)
	case chainlog.Digest(b) != a.Digest:
		return nil, broken("the file of %s has other content", a.Digest)
	}
	v, err := jsonx.Record(b)
	if err != nil {
		return nil, broken("%s: %w", a.Digest, err)
	}
	return v, nil
}
