package provider

import (
	"context"
	"slices"

	"github.com/ryeos/rye/threads/message"
)

// Oddity is a deviation of a service from the description of its dialect that one answer
// showed. An answer with oddities was read, or its failure names why it could not be.
type Oddity string

// The oddities.
const (
	NoDone            Oddity = "no_done"             // the stream has no mark of its end, such as [DONE]
	NoFinish          Oddity = "no_finish"           // the answer states no reason of its end
	WholeBody         Oddity = "whole_body"          // one JSON document came instead of a stream
	OtherFraming      Oddity = "other_framing"       // server-sent events in place of lines, or the other way
	EmptyData         Oddity = "empty_data"          // events without data
	NoCounts          Oddity = "no_usage"            // no counts of tokens
	OddCounts         Oddity = "odd_usage"           // counts that are not a number of tokens
	RotatingIDs       Oddity = "rotating_ids"        // the pieces of one call have several ids
	RepeatedIDs       Oddity = "repeated_ids"        // several calls have one id
	RepeatedNames     Oddity = "repeated_names"      // the pieces of one call repeat its name
	ArgumentsAsObject Oddity = "arguments_as_object" // arguments are an object, not a text
	EmptyArguments    Oddity = "empty_arguments"     // a call has an empty text as arguments
	ContentAsParts    Oddity = "content_as_parts"    // the text is a list of parts
	ThinkingInText    Oddity = "thinking_in_text"    // the text begins with <think>
	CallsInText       Oddity = "calls_in_text"       // calls are written in the text
	ItemsAtEnd        Oddity = "items_at_end"        // items come in the last event only
)

// Quirk returns the quirk of a provider item by which answers with this oddity are read,
// or "" if they are read without one.
// There is no quirk usage_cumulative: for every service the last counts are used.
func (o Oddity) Quirk() string {
	switch o {
	case NoFinish:
		return noFinish
	case NoCounts, OddCounts:
		return noUsage
	case EmptyArguments:
		return emptyArguments
	}
	return ""
}

// String returns a sentence about the service for a person.
func (o Oddity) String() string {
	switch o {
	case NoDone:
		return "its streams end without the mark of their end"
	case NoFinish:
		return "its answers state no reason of their end"
	case WholeBody:
		return "it sends the answer as one document, not as a stream"
	case OtherFraming:
		return "its streams are divided in another way than the dialect does"
	case EmptyData:
		return "it sends events without data"
	case NoCounts:
		return "it does not state how many tokens an answer has"
	case OddCounts:
		return "its counts of tokens are not numbers that an answer can have"
	case RotatingIDs:
		return "the parts of one call have different ids"
	case RepeatedIDs:
		return "several calls of an answer have the same id"
	case RepeatedNames:
		return "the parts of a call repeat its name"
	case ArgumentsAsObject:
		return "it sends the arguments of a call as an object"
	case EmptyArguments:
		return "it sends an empty text for the arguments of a call"
	case ContentAsParts:
		return "it sends the text of an answer as a list of parts"
	case ThinkingInText:
		return "it writes the reasoning of the model into the text"
	case CallsInText:
		return "it writes the calls of the model into the text"
	case ItemsAtEnd:
		return "it sends the parts of an answer in its last event only"
	}
	return string(o)
}

// oddities collects the oddities of one answer, each once, in the order of their occurrence.
type oddities []Oddity

func (o *oddities) add(v Oddity) {
	if o != nil && !slices.Contains(*o, v) {
		*o = append(*o, v)
	}
}

// Probe is Call that also returns the oddities of the answer: for a test of a provider, which
// writes the quirks of its item. The oddities are returned with an error too.
func (c *Config) Probe(ctx context.Context, req message.Request) (message.Response, []Oddity, error) {
	var odd oddities
	r, err := c.call(ctx, req, nil, &odd)
	return r, odd, err
}
