package primary

import (
	"github.com/ryeos/rye/exec"
)

// Metadata describes one execution.
type Metadata struct {
	Ref        string        `json:"ref"`
	DryRun     bool          `json:"dry_run,omitempty"`
	DurationMS int64         `json:"duration_ms"`
	ReturnCode *int          `json:"return_code,omitempty"`
	Signal     string        `json:"signal,omitempty"`
	Log        string        `json:"log,omitempty"` // the last 4 KiB of stdout before a result in its last line
	Truncated  bool          `json:"truncated,omitempty"`
	Dropped    *exec.Dropped `json:"dropped_bytes,omitempty"` // set when truncated
	Usage      *exec.Usage   `json:"usage,omitempty"`
	Sandbox    *exec.Sandbox `json:"sandbox,omitempty"`
	// Calls are the calls of the program through the broker, at most exec.MaxBrokerCalls.
	Calls     []exec.BrokerCall `json:"calls,omitempty"`
	MoreCalls int               `json:"more_calls,omitempty"` // beyond them
	Chain     []Element         `json:"chain,omitempty"`
}
