package threads

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/recordtext"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// The bounds of what a narrative has of one text.
const (
	maxNarrated = 16 << 10
	maxObject   = 64 << 10
)

// Narrate writes what a thread did as markdown that people read: its inputs, each text of
// the model, each call of a tool with its outcome, and the end. Of results it has the
// beginning; reasoning and the texts of the directive are left out. It stops when out has
// most bytes.
func Narrate(out *bytes.Buffer, project, id string, most int) error {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return err
	}
	called := map[string]string{}
	for i := range lines {
		l := &lines[i]
		data, err := dataOf(project, id, l)
		if err == nil {
			var text string
			if text, err = narrated(l.Event, data, called); out.Len()+len(text) > most {
				fmt.Fprintf(out, "\nThe rest is left out: `rye threads tail %s` prints it.\n", id)
				return nil
			}
			out.WriteString(text)
		}
		if err != nil {
			return diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", id, l.Seq, err)
		}
	}
	return nil
}

// narrated renders an event; called has the names of the calls before it.
func narrated(event string, data []byte, called map[string]string) (string, error) {
	switch event {
	case evStarted:
		var d startedData
		err := into(data, &d)
		return fmt.Sprintf("`%s`, signed by %s, with the model %s.\n\nInputs:\n\n%s", d.Directive.Ref, recordtext.Inline(d.Signer), recordtext.Inline(d.Model),
			recordtext.JSON(d.Inputs, maxObject, "")), err
	case evAdded:
		var d addedData
		err := into(data, &d)
		return spokenTexts(string(d.Role), d.Blocks), err
	case evResponse:
		var d responseData
		if err := into(data, &d); err != nil || d.Aside {
			return "", err
		}
		return spokenTexts(fmt.Sprintf("Turn %d", d.Turn), d.Blocks), nil
	case evCall:
		var d callData
		err := into(data, &d)
		input, _ := jsonx.Marshal(d.Input)
		called[d.CallID] = d.Name
		return fmt.Sprintf(
			"\n- calls %s %s\n",
			recordtext.Inline(d.Name),
			recordtext.Inline(string(input)),
		), err
	case evResult:
		var d resultData
		err := into(data, &d)
		outcome := "ok"
		if d.IsError {
			outcome = "failed"
		}
		var text strings.Builder
		for _, b := range d.Content {
			if b.IsMedia() {
				text.WriteString(b.Describe() + " ")
			}
			text.WriteString(b.Text + " ")
		}
		return fmt.Sprintf(
			"- %s %s in %s: %s\n",
			recordtext.Inline(called[d.CallID]),
			outcome,
			time.Duration(d.Duration)*time.Millisecond,
			recordtext.Inline(strings.TrimSpace(text.String())),
		), err
	case evDenied:
		var d deniedData
		err := into(data, &d)
		return fmt.Sprintf(
			"- %s denied: %s\n",
			recordtext.Inline(called[d.CallID]),
			recordtext.Inline(d.Message),
		), err
	case evCompacted:
		var d compactedData
		err := into(data, &d)
		if d.Step == compact.Summary {
			return fmt.Sprintf("\nFrom here on, the model reads this in place of the turns before turn %d:\n\n%s", d.Keep, recordtext.Lines(d.Text, maxNarrated)), err
		}
		return fmt.Sprintf("\nFrom here on, the model reads references in place of %d results.\n", len(d.Results)), err
	case evContinued:
		var d continuedData
		err := into(data, &d)
		return fmt.Sprintf("\nContinued by `%s`.\n", d.To), err
	case evResumed:
		var d resumedData
		err := into(data, &d)
		return "\nResumed. " + recordtext.Inline(d.Message) + "\n", err
	case evCompleted, evFailed, evCancelled, evKilled:
		return ended(event, data)
	}
	return "", nil
}

func ended(event string, data []byte) (string, error) {
	var d endData
	err := into(data, &d)
	text := "\nEnd: " + strings.TrimPrefix(event, "thread_")
	if d.Error != nil {
		text += " " + string(d.Error.Code) + " " + recordtext.Inline(d.Error.Message)
	}
	text += fmt.Sprintf(". Turns: %d, spend: $%s.\n", d.Cost.Turns, d.Cost.Spend)
	if d.Outputs != nil {
		text += "\nOutputs:\n\n" + recordtext.JSON(d.Outputs, maxObject, "")
	}
	return text, err
}

func spokenTexts(who string, blocks []message.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		if b.Type == message.Text && strings.TrimSpace(b.Text) != "" {
			fmt.Fprintf(&out, "\n%s:\n\n%s", who, recordtext.Lines(b.Text, maxNarrated))
		}
		if b.IsMedia() {
			fmt.Fprintf(&out, "\n%s: %s\n", who, recordtext.Inline(b.Describe()))
		}
	}
	return out.String()
}
