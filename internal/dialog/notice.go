package dialog

import "strings"

// NoticeVar chooses how a question that opens is announced.
const NoticeVar = "RYE_NOTIFY"

// Notice returns the escape sequence with which a terminal announces a text of rye, by RYE_NOTIFY and by the
// variables that terminals set. It is "" for RYE_NOTIFY=off.
func Notice(getenv func(string) string, text string) string {
	how := getenv(NoticeVar)
	if how == "" || how == "auto" {
		how = detected(getenv)
	}
	osc := ""
	switch how {
	case "off":
		return ""
	case "osc9":
		osc = "\x1b]9;" + text + "\a"
	case "osc777":
		osc = "\x1b]777;notify;rye;" + text + "\a"
	default:
		return "\a"
	}
	if getenv("TMUX") != "" {
		osc = "\x1bPtmux;" + strings.ReplaceAll(osc, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return "\a" + osc
}

func detected(getenv func(string) string) string {
	term := getenv("TERM")
	switch program := getenv("TERM_PROGRAM"); {
	case program == "iTerm.app", program == "WezTerm", program == "ghostty", term == "xterm-kitty", term == "xterm-ghostty":
		return "osc9"
	case strings.HasPrefix(term, "foot"), strings.HasPrefix(term, "rxvt"):
		return "osc777"
	}
	return "bell"
}
