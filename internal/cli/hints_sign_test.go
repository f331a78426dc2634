package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hinttable"
)

// TestSignHintsLeadOn: a hint that names rye sign may lead back to the refusal that it
// is about. hints_lead_on.txtar fails a file in every such way and runs the command.
func TestSignHintsLeadOn(t *testing.T) {
	covered := []string{
		"UNSIGNED never_signed", "UNSIGNED item_signature", "UNSIGNED detached_not_used", "UNSIGNED ", "SIG_MALFORMED item_signature", "HASH_MISMATCH item_signature",
		"SIG_INVALID item_signature", "KEY_UNKNOWN embedded_key", "APPROVAL_REQUIRED foreign_signature",
		"LEGACY ", "LEGACY legacy_good", "LEGACY legacy_no_key", "LEGACY legacy_untrusted", "LEGACY legacy_unknown_key", "LEGACY legacy_rest",
	}
	// These are about another command than the one that they name, or the file changes
	// before it is run: the staged version, a capability, a check, metadata.
	others := []string{
		"other_signer", "other_branch", "agent_signed", "sign_disabled", "drafts_only", "sign_ask", "sign", "upgrade", "sign_nothing", "legacy_invalid", "create",
		"draft_by_pattern", "foreign_by_pattern", "unreadable_by_pattern", "conflict_by_pattern", "legacy_by_pattern", "staged_differs",
		"provider", "provider_sign", "provider_agent", "dev", "dev_rung", "context_unsigned", "context_agent",
	}
	script, err := os.ReadFile("../../testdata/scripts/hints_lead_on.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for row := range hinttable.Rows(hintTable) {
		name := row.Code + " " + row.Reason
		if !strings.Contains(row.Text, "rye sign") || slices.Contains(others, row.Reason) || row.Reason == "document_signature" {
			continue
		}
		if !slices.Contains(covered, name) || !strings.Contains(string(script), "leadson "+row.Code+" ") {
			t.Errorf("%q names rye sign: add the failure to hints_lead_on.txtar and to covered", name)
		}
	}
	for _, row := range covered {
		code, reason, _ := strings.Cut(row, " ")
		if !strings.Contains(lookUp(diag.Code(code), reason, map[string]any{"ref": "REF"}), "rye sign") {
			t.Errorf("the hint of %q does not name rye sign", row)
		}
	}
}
