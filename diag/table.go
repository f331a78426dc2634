package diag

// Code names one kind of failure. Codes are stable once released.
type Code string

// The codes, in the order of the table.
const (
	Usage              Code = "USAGE"
	UnknownCommand     Code = "UNKNOWN_COMMAND"
	UnknownFlag        Code = "UNKNOWN_FLAG"
	UnknownParameter   Code = "UNKNOWN_PARAMETER"
	ValidationFailed   Code = "VALIDATION_FAILED"
	SchemaNotFound     Code = "SCHEMA_NOT_FOUND"
	VersionMismatch    Code = "VERSION_MISMATCH"
	ParsingError       Code = "PARSING_ERROR"
	ConfigError        Code = "CONFIG_ERROR"
	ItemNotFound       Code = "ITEM_NOT_FOUND"
	ToolNotFound       Code = "TOOL_NOT_FOUND"
	ExecutorNotFound   Code = "EXECUTOR_NOT_FOUND"
	SourceNotFound     Code = "SOURCE_NOT_FOUND"
	VersionNotFound    Code = "VERSION_NOT_FOUND"
	AmbiguousItem      Code = "AMBIGUOUS_ITEM"
	CircularDependency Code = "CIRCULAR_DEPENDENCY"
	ChainTooDeep       Code = "CHAIN_TOO_DEEP"
	Unresolvable       Code = "UNRESOLVABLE"
	LockMissing        Code = "LOCK_MISSING"
	LockStale          Code = "LOCK_STALE"
	Drift              Code = "DRIFT"
	LockMismatch       Code = "LOCK_MISMATCH"
	HashMismatch       Code = "HASH_MISMATCH"
	SumConflict        Code = "SUM_CONFLICT"
	PathEscape         Code = "PATH_ESCAPE"
	NotRegular         Code = "NOT_REGULAR"
	TooLarge           Code = "TOO_LARGE"
	Encoding           Code = "ENCODING"
	BundleFileMissing  Code = "BUNDLE_FILE_MISSING"
	BundleFileExtra    Code = "BUNDLE_FILE_EXTRA"
	TranscriptBroken   Code = "TRANSCRIPT_BROKEN"
	TagMoved           Code = "TAG_MOVED"
	ImpostorCommit     Code = "IMPOSTOR_COMMIT"
	LockRepointed      Code = "LOCK_REPOINTED"
	SourceMoved        Code = "SOURCE_MOVED"
	LogEquivocation    Code = "LOG_EQUIVOCATION"
	Rollback           Code = "ROLLBACK"
	Unsigned           Code = "UNSIGNED"
	SigMalformed       Code = "SIG_MALFORMED"
	SigMultiple        Code = "SIG_MULTIPLE"
	SigInvalid         Code = "SIG_INVALID"
	Legacy             Code = "LEGACY"
	KeyUnknown         Code = "KEY_UNKNOWN"
	KeyWeak            Code = "KEY_WEAK"
	Scope              Code = "SCOPE"
	NotYetValid        Code = "NOT_YET_VALID"
	Expired            Code = "EXPIRED"
	Revoked            Code = "REVOKED"
	SignerChanged      Code = "SIGNER_CHANGED"
	Threshold          Code = "THRESHOLD"
	TrustChanged       Code = "TRUST_CHANGED"
	Stale              Code = "STALE"
	LogProof           Code = "LOG_PROOF"
	HiddenChars        Code = "HIDDEN_CHARS"
	PermissionDenied   Code = "PERMISSION_DENIED"
	PolicyDenied       Code = "POLICY_DENIED"
	ApprovalRequired   Code = "APPROVAL_REQUIRED"
	ApprovalDenied     Code = "APPROVAL_DENIED"
	Cooldown           Code = "COOLDOWN"
	ConsentRequired    Code = "CONSENT_REQUIRED"
	SandboxUnavailable Code = "SANDBOX_UNAVAILABLE"
	Network            Code = "NETWORK"
	RegistryError      Code = "REGISTRY_ERROR"
	ProviderError      Code = "PROVIDER_ERROR"
	AuthRequired       Code = "AUTH_REQUIRED"
	AuthFailed         Code = "AUTH_FAILED"
	SessionExpired     Code = "SESSION_EXPIRED"
	LimitExceeded      Code = "LIMIT_EXCEEDED"
	BudgetExceeded     Code = "BUDGET_EXCEEDED"
	ExecutionFailed    Code = "EXECUTION_FAILED"
	Timeout            Code = "TIMEOUT"
	ResourceExceeded   Code = "RESOURCE_EXCEEDED"
	Cancelled          Code = "CANCELLED"
	FileSystemError    Code = "FILE_SYSTEM_ERROR"
	UnknownError       Code = "UNKNOWN_ERROR"
	Internal           Code = "INTERNAL"
)

// Row describes one code: its class and when it is used.
type Row struct {
	Code  Code
	Class Class
	When  string
}

// Table returns the rows of every code, in the order of docs/errors.md.
func Table() []Row { return table() }

// Lookup returns the row of a code.
func Lookup(c Code) (Row, bool) {
	for _, r := range table() {
		if r.Code == c {
			return r, true
		}
	}
	return Row{}, false
}

func table() []Row {
	return []Row{
		{Usage, ClassUsage, "the words of the call are wrong or incomplete"},
		{UnknownCommand, ClassUsage, "no command has that name"},
		{UnknownFlag, ClassUsage, "the command has no such flag"},
		{UnknownParameter, ClassUsage, "the item declares no such parameter or input"},
		{ValidationFailed, ClassInvalid, "an item, configuration or parameter does not fit its schema; every place is listed"},
		{SchemaNotFound, ClassInvalid, "no extractor supplies a schema for this kind, so only the built-in minimum was checked"},
		{VersionMismatch, ClassInvalid, "a version is not semantic or lies outside a declared constraint"},
		{ParsingError, ClassInvalid, "a file does not parse in its format"},
		{ConfigError, ClassInvalid, "a configuration file or runtime item holds something it may not"},
		{ItemNotFound, ClassNotFound, "no space holds an item with that id"},
		{ToolNotFound, ClassNotFound, "no space holds a tool with that id"},
		{ExecutorNotFound, ClassNotFound, "an executor_id names an item that the owner's space and the spaces below it do not hold"},
		{SourceNotFound, ClassNotFound, "no repository or registry answers to that source"},
		{VersionNotFound, ClassNotFound, "the source has no such version"},
		{AmbiguousItem, ClassUnresolvable, "two files give one id in one space"},
		{CircularDependency, ClassUnresolvable, "a chain or requirement returns to where it began"},
		{ChainTooDeep, ClassUnresolvable, "a chain has more than 10 elements"},
		{Unresolvable, ClassUnresolvable, "resolution has no single answer"},
		{LockMissing, ClassDrift, "rye.lock does not exist"},
		{LockStale, ClassDrift, "rye.lock does not match rye.yaml"},
		{Drift, ClassDrift, "a --check found what its command would change"},
		{LockMismatch, ClassIntegrity, "an item is not the one rye.lock recorded"},
		{HashMismatch, ClassIntegrity, "the bytes are not the bytes that were signed or recorded"},
		{SumConflict, ClassHistory, "rye.sum already records another hash for this id and version"},
		{PathEscape, ClassIntegrity, "a path leaves the folder it must stay in, or passes through a link"},
		{NotRegular, ClassIntegrity, "a directory, device, socket, pipe or hard link stands where a regular file must"},
		{TooLarge, ClassIntegrity, "a file is larger than its limit"},
		{Encoding, ClassIntegrity, "a text file is not UTF-8, or holds a byte order mark or NUL"},
		{BundleFileMissing, ClassIntegrity, "a file that the bundle manifest lists does not exist"},
		{BundleFileExtra, ClassIntegrity, "a file exists that the bundle manifest does not list"},
		{TranscriptBroken, ClassIntegrity, "the hash chain of a transcript or of the log of signatures, or a checkpoint, does not hold"},
		{TagMoved, ClassHistory, "a tag points to another commit than the one locked"},
		{ImpostorCommit, ClassHistory, "a commit is not reachable from any branch or tag of its repository"},
		{LockRepointed, ClassHistory, "a lock entry changed without a change of the manifest that explains it"},
		{SourceMoved, ClassHistory, "a source redirects to another address"},
		{LogEquivocation, ClassHistory, "a transparency log showed two different histories"},
		{Rollback, ClassHistory, "a source offers an older state than one already seen"},
		{Unsigned, ClassTrust, "the file carries no signature"},
		{SigMalformed, ClassTrust, "a signature line is not written exactly as the format demands"},
		{SigMultiple, ClassTrust, "more than one signature claims the file"},
		{SigInvalid, ClassTrust, "the signature was not made by that key for this kind, id and content"},
		{Legacy, ClassTrust, "the signature has the earlier format, which is not trusted"},
		{KeyUnknown, ClassTrust, "no trust document of yours vouches for the key that signed"},
		{KeyWeak, ClassTrust, "a public key is not a safe Ed25519 point"},
		{Scope, ClassTrust, "the key is trusted, but not for this kind, id or use"},
		{NotYetValid, ClassTrust, "the signature's time lies before the key's validity, or in the future"},
		{Expired, ClassTrust, "the key's validity has ended"},
		{Revoked, ClassTrust, "the key or version was revoked"},
		{SignerChanged, ClassTrust, "a source is signed by another key than before, without a rotation"},
		{Threshold, ClassTrust, "fewer distinct trusted keys signed than the policy demands"},
		{TrustChanged, ClassTrust, "the project's trust set is not the one you accepted"},
		{Stale, ClassTrust, "revocation data is older than the policy allows"},
		{LogProof, ClassTrust, "a transparency log proof is missing or wrong"},
		{HiddenChars, ClassTrust, "the text holds characters that a reader cannot see"},
		{PermissionDenied, ClassDenied, "the caller lacks a capability"},
		{PolicyDenied, ClassDenied, "a policy forbids it"},
		{ApprovalRequired, ClassDenied, "a person must approve, and none is here"},
		{ApprovalDenied, ClassDenied, "a person refused, or nobody answered in time"},
		{Cooldown, ClassDenied, "the version is younger than the policy's minimum age"},
		{ConsentRequired, ClassDenied, "something of this project would run for the first time"},
		{SandboxUnavailable, ClassDenied, "this machine cannot enforce the required isolation"},
		{Network, ClassRemote, "the other side did not answer"},
		{RegistryError, ClassRemote, "the registry answered with an error"},
		{ProviderError, ClassRemote, "the model provider answered with an error"},
		{AuthRequired, ClassAuth, "a key to sign with, its passphrase, or credentials are needed"},
		{AuthFailed, ClassAuth, "credentials were refused"},
		{SessionExpired, ClassAuth, "the login has expired"},
		{LimitExceeded, ClassLimit, "a limit of turns, tokens, depth, spawns or duration is reached"},
		{BudgetExceeded, ClassLimit, "the spend limit is reached"},
		{ExecutionFailed, ClassFailed, "the work ran and failed"},
		{Timeout, ClassFailed, "the work took longer than its timeout and was stopped"},
		{ResourceExceeded, ClassFailed, "the work passed a resource limit and was stopped"},
		{Cancelled, ClassFailed, "the work was cancelled; 130 at a terminal"},
		{FileSystemError, ClassMachine, "the machine refused a file operation"},
		{UnknownError, ClassMachine, "something failed that has no code of its own"},
		{Internal, ClassBug, "a bug in rye"},
	}
}
