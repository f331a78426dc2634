package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

type scriptCmd = func(ts *testscript.TestScript, neg bool, args []string)

// scriptCommands are what the scripts know beside the words of testscript.
// docs/dev/scripts.md describes them.
func scriptCommands() map[string]scriptCmd {
	return map[string]scriptCmd{
		"crlf":       cmdCRLF,
		"exitcode":   cmdExitcode,
		"fixture":    cmdFixture,
		"flip":       cmdFlip,
		"hardlink":   cmdHardlink,
		"httpserve":  cmdHTTPServe,
		"wheel":      cmdWheel,
		"indexserve": cmdIndexServe,
		"eventsfit":  cmdEventsFit,
		"streamed":   cmdStreamed,
		"jsonpath":   cmdJSONPath,
		"unixlink":   cmdUnixlink,
		"alike":      cmdAlike,
		"append":     cmdAppend,
		"as":         cmdAs,
		"install":    cmdInstall,

		"oldkey":      cmdOldKey,
		"oldsign":     cmdOldSign,
		"samebody":    cmdSameBody,
		"bigjson":     cmdBigFile,
		"picture":     cmdPicture,
		"sentmedia":   cmdSentMedia,
		"followserve": cmdFollowServe,
		"followed":    cmdFollowed,
		"mkkey":       cmdMakeKey,
		"modelserve":  cmdModelServe,
		"modelreads":  cmdModelReads,
		"beginnings":  cmdBeginnings,
		"localmodel":  cmdLocalModel,
		"mcpserver":   cmdMCPServer,
		"bigtool":     cmdBigTool,
		"moment":      cmdMoment,
		"sameday":     cmdSameDay,
		"nofiles":     cmdNoFiles,
		"plain":       cmdPlain,
		"leadson":     cmdLeadsOn,
		"library":     cmdLibrary,
		"release":     cmdRelease,
		"regdown":     cmdRegDown,
		"regsend":     cmdRegSend,
		"regup":       cmdRegUp,
		"remember":    cmdRemember,
		"replace":     cmdReplace,
		"serve":       cmdServe,
		"evidence":    cmdEvidence,
		"regkey":      cmdRegKey,
		"issuer":      cmdIssuer,
		"regserve":    cmdRegServe,
		"witup":       cmdWitUp,
		"regtree":     cmdRegTree,
		"servekeys":   cmdServeKeys,
		"spend":       cmdSpend,
		"sshline":     cmdSSHLine,
		"signwith":    cmdSignWith,
		"swaplines":   cmdSwapLines,
		"rawtree":     cmdRawTree,
		"threadtoken": cmdThreadToken,
		"revoke":      cmdRevoke,
		"workflow":    cmdWorkflow,
		"wrongsig":    cmdWrongSig,
		"zeros":       cmdZeros,
	}
}

func need(ts *testscript.TestScript, neg bool, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

// cmdExitcode runs a program and demands one exit status; stdout and stderr
// can be matched afterwards as after exec.
func cmdExitcode(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "exitcode STATUS PROGRAM [ARG…]")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("running %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdFlip changes one bit of one byte: at an offset (negative counts from the
// end), or at the first byte of the first place where a text occurs.
func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "flip FILE OFFSET|TEXT")
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		at = bytes.Index(b, []byte(args[1]))
	case at < 0:
		at += len(b)
	}
	if at < 0 || at >= len(b) {
		ts.Fatalf("%s: %q names no byte of %d", args[0], args[1], len(b))
	}
	b[at] ^= 1
	rewrite(ts, path, b)
}

// cmdCRLF gives a file the line endings of Windows.
func cmdCRLF(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "crlf FILE")
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	rewrite(ts, path, bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
}

// cmdAppend adds a line to a file; \t, \n and \xNN are escapes.
func cmdAppend(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "append FILE LINE")
	line, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	rewrite(ts, path, append(b, line+"\n"...))
}

// rewrite keeps the mode and the inode.
func rewrite(ts *testscript.TestScript, path string, b []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	ts.Check(err)
	_, err = f.Write(b)
	ts.Check(errors.Join(err, f.Close()))
}

// cmdUnixlink makes a symbolic link whose target need not exist, and skips the
// script where links need a privilege.
func cmdUnixlink(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "unixlink TARGET LINK")
	if runtime.GOOS == "windows" {
		ts.Fatalf("guard unixlink with [unix]")
	}
	ts.Check(os.Symlink(args[0], ts.MkAbs(args[1])))
}

func cmdHardlink(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "hardlink FILE NEW")
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// cmdJSONPath compares one value of a JSON file (or of stdout) with a text:
// strings as they are, other values as JSON, "#" the length of a list. With
// "!" the value must differ; without a wanted text it must exist.
func cmdJSONPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: [!] jsonpath FILE PATH [WANT]")
	}
	if strings.HasSuffix(args[1], ".") { // the script has # without quotes, which is a comment
		ts.Fatalf("%q ends with a dot: write '%s#' in quotes", args[1], args[1])
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	if dec.More() {
		ts.Fatalf("%s holds more than one JSON document", args[0])
	}
	got, err := lookupJSON(doc, args[1])
	switch {
	case len(args) == 2 && neg != (err != nil):
		ts.Fatalf("%s: found %q, %v", args[1], got, err)
	case len(args) == 2:
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	case (got == args[2]) == neg:
		ts.Fatalf("%s is %q, want %s%q", args[1], got, map[bool]string{true: "not "}[neg], args[2])
	}
}

// lookupJSON follows a dotted path; a number is an index, "#" a length.
func lookupJSON(v any, path string) (string, error) {
	for key := range strings.SplitSeq(path, ".") {
		if key == "" {
			continue
		}
		next, ok := stepJSON(v, key)
		if !ok {
			return "", fmt.Errorf("nothing at %q", key)
		}
		v = next
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func stepJSON(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[key]
		return next, ok
	case []any:
		if key == "#" {
			return len(v), true
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}
