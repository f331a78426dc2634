package provider

import (
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// unknownEnd is the reason of a failure whose answer ended for a reason that is not a good
// end. Its Code is the word of the service.
const unknownEnd = "unknown_end"

// stops returns the meaning of the words of the services, in lower case. No two services use one
// word for different ends, and gateways write the words of the service behind them.
func stops() map[string]message.Stop {
	out := map[string]message.Stop{}
	for stop, words := range map[message.Stop]string{
		message.StopEnd:       "stop end end_turn stop_sequence eos eos_token complete completed",
		message.StopToolCalls: "tool_calls tool_call tool_use function_call",
		message.StopMaxOutput: "length max_tokens max_output_tokens model_length model_context_window_exceeded",
		message.StopRefusal: "content_filter refusal safety recitation blocklist prohibited_content spii " +
			"image_safety image_prohibited_content image_recitation",
		message.StopPause: "pause_turn",
	} {
		for _, word := range strings.Fields(words) {
			out[word] = stop
		}
	}
	return out
}

// failed are words of which every service means that the answer failed.
func failedEnds() []string {
	return strings.Fields("error failed failure network_error abort aborted cancelled canceled sensitive insufficient_system_resource other load unload timeout")
}

// stopOf returns the meaning of a word of the service. A word that is not known is a failure
// with its name: calls of an answer that may be incomplete do not run.
func (c *Config) stopOf(word string) (message.Stop, error) {
	if stop, stated := c.Ends[word]; stated {
		return stop, nil
	}
	if stop, known := stops()[strings.ToLower(word)]; known {
		return stop, nil
	}
	return "", endFailure(word)
}

func endFailure(word string) error {
	word = short(word)
	return &serviceError{
		Type:    word,
		Code:    word,
		Reason:  unknownEnd,
		Message: "the answer ended with " + strings.TrimSpace(word),
	}
}
