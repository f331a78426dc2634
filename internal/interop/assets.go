package interop

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
)

// maxAsset is how many bytes a text of a skill may have to become knowledge, which a model
// reads as a whole.
const maxAsset = 256 << 10

// dataExtensions are the extensions of files that can be signed below .ai/tools and are not tools.
var dataExtensions = []string{".json", ".yaml", ".yml", ".toml"}

// asset converts a file of a skill that is neither markdown nor a script. Data in the folder
// of a script stays a file, because the runtime copies it with the script; another text
// becomes knowledge. why states the reason if neither is possible.
func asset(
	s Source,
	f *File,
	id, skill string,
) (ref item.Ref, out File, why string, err error) {
	folder, base := path.Split(f.Path)
	for _, part := range segments(strings.TrimSuffix(folder, "/")) {
		id = path.Join(id, part)
	}
	text := bytes.TrimPrefix(f.Bytes, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return ref, out, "it is empty", nil
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return ref, out, "it is not text: put it into the project, and write its path into the text of the skill", nil
	case s.isData(f):
		ref = item.Ref{Kind: item.Tool, ID: id + "/" + stem(base)}
		return ref, File{Path: "tools/" + id + "/" + base, Bytes: f.Bytes}, "", nil
	case slices.Contains(strings.Split(folder, "/"), "scripts"): // it is there for a script and not for the model
		return ref, out, "only JSON, YAML and TOML with an id of their own are copied with a script: put it into the project, and pass its path to the script", nil
	case len(text) > maxAsset:
		return ref, out, "it has more than 256 KiB: put it into the project, and write its path into the text of the skill", nil
	case diag.Failed(hidden.Scan(text)):
		return ref, out, "it has hidden characters", nil
	}
	ref = item.Ref{Kind: item.Knowledge, ID: id + "/" + segmentOf(base)}
	out, err = knowledge(
		ref,
		f.Path,
		"File "+f.Path+" of the skill "+skill+".",
		block(path.Ext(base), string(text)),
	)
	return ref, out, "", err
}

// isData reports whether a file is data that a script of the skill can read: its runtime copies
// the signed files in the folder of the script and below it. The name stays as it is.
func (s Source) isData(f *File) bool {
	name := stem(path.Base(f.Path))
	if !slices.Contains(dataExtensions, path.Ext(f.Path)) ||
		Segment(name) != name ||
		bytes.Contains(f.Bytes, []byte("tool_type")) {
		return false
	}
	sameID := func(other File) bool {
		runtime, _ := scriptHead(path.Ext(other.Path))
		isTool := runtime != "" || slices.Contains(dataExtensions, path.Ext(other.Path))
		return isTool && other.Path != f.Path && stem(other.Path) == stem(f.Path)
	}
	if slices.ContainsFunc(s.Files, sameID) {
		return false
	}
	return slices.ContainsFunc(s.Files, func(script File) bool {
		runtime, _ := scriptHead(path.Ext(script.Path))
		return runtime != "" && runtime != bashRuntime && inFolderOf(script, f)
	})
}

func inFolderOf(script File, f *File) bool {
	folder := path.Dir(script.Path)
	return folder == "." || strings.HasPrefix(f.Path, folder+"/")
}

// block renders a file as a block of markdown that ends behind its last line.
func block(ext, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + strings.TrimPrefix(ext, ".") + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}
