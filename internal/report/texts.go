package report

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/interop/scan"
)

// languageOf returns the language of a script, "" for another file.
func languageOf(file, text string) string {
	languages := map[string]string{
		".py":   "python",
		".sh":   "shell",
		".bash": "shell",
		".zsh":  "shell",
		".js":   "javascript",
		".mjs":  "javascript",
		".cjs":  "javascript",
		".ts":   "typescript",
		".rb":   "ruby",
		".pl":   "perl",
		".ps1":  "powershell",
		".php":  "php",
		".lua":  "lua",
	}
	language := languages[strings.ToLower(path.Ext(file))]
	first, _, _ := strings.Cut(text, "\n")
	interpreter, ok := strings.CutPrefix(first, "#!")
	if language != "" || !ok {
		return language
	}
	// the first line names the interpreter
	words := strings.Fields(interpreter)
	if len(words) == 0 {
		return "script"
	}
	last := path.Base(words[len(words)-1])
	if slices.Contains(strings.Fields("sh bash dash zsh ksh"), last) {
		return "shell"
	}
	return last
}

func isMarkdown(file string) bool {
	return slices.Contains(
		strings.Fields(".md .mdc .markdown"),
		strings.ToLower(path.Ext(file)),
	)
}

// shellBlocks returns the fenced blocks of the shell. A prompt "$ " in front of a command
// is not a part of it.
func shellBlocks(text string) (out []string) {
	fence := ""
	shell := false
	var block []string
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		name := strings.TrimLeft(trimmed, "`~")
		marks := trimmed[:len(trimmed)-len(name)]
		switch {
		case fence == "" && len(marks) >= len("```"):
			fence = marks
			shell = isShell(name)
			block = nil
		case fence != "" && name == "" && strings.HasPrefix(marks, fence):
			// a shorter fence is a part of the block
			if shell {
				out = append(out, strings.Join(block, ""))
			}
			fence = ""
		default:
			block = append(block, strings.TrimPrefix(line, "$ "))
		}
	}
	return out
}

// isShell reports whether the word behind a fence names the shell.
func isShell(info string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	names := []string{"bash", "sh", "shell", "zsh", "console"}
	return slices.Contains(names, strings.ToLower(name))
}

// isBuiltin reports whether a command of the shell starts no program.
func isBuiltin(name string) bool {
	return slices.Contains(
		strings.Fields("cd echo export set exit true false test [ read shift return local printf source unset trap wait declare readonly pwd break continue : let pushd popd shopt umask type mapfile eval exec command builtin"),
		name,
	)
}

// maxCommand is how many bytes of a command a report has.
const maxCommand = 120

// fetchText is a command that fetches code, with a remark if it names no version.
func fetchText(args []string) string {
	text := cuttext.Short(strings.Join(args, " "), maxCommand)
	managers := strings.Fields("pip pip3 pipx uvx uv npx bunx pnpm npm gem cargo go")
	if slices.Contains(managers, args[0]) && !slices.ContainsFunc(args, versioned) {
		return text + " (no version)"
	}
	return text
}

// versioned reports whether a word names a package with a version. The name of a package
// of npm can begin with @.
func versioned(word string) bool {
	_, version, found := strings.Cut(strings.TrimPrefix(word, "@"), "@")
	pinned := found && version != "latest"
	return pinned || strings.Contains(word, "==") || strings.HasPrefix(word, "--version")
}

// licenceOf names the licence in the file at the top of a source.
func licenceOf(files scan.Source) string {
	known := []struct{ text, name string }{
		{"Apache License", "Apache-2.0"},
		{"MIT License", "MIT"},
		{"Permission is hereby granted, free of charge", "MIT"},
		{"GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL"},
		{"GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"},
		{"GNU GENERAL PUBLIC LICENSE", "GPL"},
		{"Mozilla Public License", "MPL-2.0"},
		{"Redistribution and use in source and binary forms", "BSD"},
		{"Creative Commons", "Creative Commons"},
		{"This is free and unencumbered software", "Unlicense"},
		{"ISC License", "ISC"},
	}
	for _, file := range files.Files() {
		upper := strings.ToUpper(file.Path)
		named := strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "COPYING")
		if !named || strings.Contains(file.Path, "/") || file.Size > maxText {
			continue
		}
		b, err := files.Read(file.Path)
		if err != nil {
			continue
		}
		// the licence of a component is in its own files, which the reader sees
		for _, k := range known {
			if strings.Contains(string(b), k.text) {
				return k.name
			}
		}
		return "see " + file.Path
	}
	return ""
}
