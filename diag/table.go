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
	ThreadNotFound     Code = "THREAD_NOT_FOUND"
	AmbiguousItem      Code = "AMBIGUOUS_ITEM"
	CircularDependency Code = "CIRCULAR_DEPENDENCY"
	ChainTooDeep       Code = "CHAIN_TOO_DEEP"
	Unresolvable       Code = "UNRESOLVABLE"
	MissingDependency  Code = "MISSING_DEPENDENCY"
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
	GraphChanged       Code = "GRAPH_CHANGED"
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
	TokenInvalid       Code = "TOKEN_INVALID"
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
	ContextFull        Code = "CONTEXT_FULL"
	Overspent          Code = "OVERSPENT"
	ExecutionFailed    Code = "EXECUTION_FAILED"
	ModelRefused       Code = "MODEL_REFUSED"
	AnswerEmpty        Code = "ANSWER_EMPTY"
	AnswerCut          Code = "ANSWER_CUT"
	Timeout            Code = "TIMEOUT"
	ResourceExceeded   Code = "RESOURCE_EXCEEDED"
	Cancelled          Code = "CANCELLED"
	ReplayMismatch     Code = "REPLAY_MISMATCH"
	ThreadState        Code = "THREAD_STATE"
	Conflict           Code = "CONFLICT"
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

// Table returns the rows of every code, in the order of docs/reference/errors.md.
func Table() []Row {
	return table()
}

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
		{Usage, ClassUsage, "the command line is wrong or incomplete"},
		{UnknownCommand, ClassUsage, "rye has no such command"},
		{UnknownFlag, ClassUsage, "the command has no such flag"},
		{UnknownParameter, ClassUsage, "the item declares no such parameter or input"},
		{ValidationFailed, ClassInvalid, "an item, configuration or parameter does not fit its schema; every position is listed"},
		{SchemaNotFound, ClassInvalid, "no extractor supplies a schema for this kind, so only the built-in minimum was checked"},
		{VersionMismatch, ClassInvalid, "a version is not semantic or is outside a declared constraint"},
		{ParsingError, ClassInvalid, "a file does not parse in its format"},
		{ConfigError, ClassInvalid, "a configuration file or runtime item has an invalid key or value"},
		{ItemNotFound, ClassNotFound, "no space has an item with that id"},
		{ToolNotFound, ClassNotFound, "no space has a tool with that id"},
		{ExecutorNotFound, ClassNotFound, "the space of the tool and the spaces below it have no item with the id in executor_id"},
		{SourceNotFound, ClassNotFound, "no repository or registry exists at that source"},
		{VersionNotFound, ClassNotFound, "the source has no such version"},
		{ThreadNotFound, ClassNotFound, "no thread or run with this id is visible to the caller"},
		{AmbiguousItem, ClassUnresolvable, "two files of one space have the same id"},
		{CircularDependency, ClassUnresolvable, "a chain or requirement returns to an earlier element"},
		{ChainTooDeep, ClassUnresolvable, "a chain has more than 10 elements"},
		{Unresolvable, ClassUnresolvable, "resolution has no single answer"},
		{MissingDependency, ClassUnresolvable, "a package that a tool lists, or the program that provides it, is missing on this machine"},
		{LockMissing, ClassDrift, "rye.lock does not exist"},
		{LockStale, ClassDrift, "rye.lock does not match rye.yaml"},
		{Drift, ClassDrift, "a --check found what its command would change"},
		{LockMismatch, ClassIntegrity, "an item differs from the one that rye.lock records"},
		{HashMismatch, ClassIntegrity, "the bytes differ from those that were signed or recorded"},
		{SumConflict, ClassHistory, "rye.sum already records another hash for this id and version"},
		{PathEscape, ClassIntegrity, "a path leaves the directory it must stay in, or passes through a link"},
		{NotRegular, ClassIntegrity, "a directory, device, socket, pipe or hard link is where a regular file must be"},
		{TooLarge, ClassIntegrity, "a file is larger than its limit"},
		{Encoding, ClassIntegrity, "a text file is not UTF-8, or contains a byte order mark or NUL"},
		{BundleFileMissing, ClassIntegrity, "a file that the bundle manifest lists does not exist"},
		{BundleFileExtra, ClassIntegrity, "a file exists that the bundle manifest does not list"},
		{TranscriptBroken, ClassIntegrity, "the hash chain or a checkpoint of a transcript or of the log of signatures is not valid"},
		{GraphChanged, ClassIntegrity, "a graph, or an item that it names, has another digest than when the run started"},
		{TagMoved, ClassHistory, "a tag points to another commit than the one locked"},
		{ImpostorCommit, ClassHistory, "a commit is not reachable from any branch or tag of its repository"},
		{LockRepointed, ClassHistory, "a lock entry changed without a change of the project file that explains it"},
		{SourceMoved, ClassHistory, "a source redirects to another address"},
		{LogEquivocation, ClassHistory, "a transparency log showed two different histories"},
		{Rollback, ClassHistory, "a source offers an older state than one already seen, or the log of a thread or run was set back to one"},
		{Unsigned, ClassTrust, "the file has no signature"},
		{SigMalformed, ClassTrust, "a signature line does not have the exact form that the format requires"},
		{SigMultiple, ClassTrust, "the file has more than one signature"},
		{SigInvalid, ClassTrust, "the signature was not made by that key for this kind, id and content"},
		{Legacy, ClassTrust, "the signature has the earlier format, which is not trusted"},
		{KeyUnknown, ClassTrust, "no trust document of yours names the key that signed"},
		{KeyWeak, ClassTrust, "a public key is not a safe Ed25519 point"},
		{Scope, ClassTrust, "the key is trusted, but not for this kind, id or use"},
		{NotYetValid, ClassTrust, "the signature's time is before the key's validity, or in the future"},
		{Expired, ClassTrust, "the key's validity has ended"},
		{Revoked, ClassTrust, "the key or version was revoked"},
		{SignerChanged, ClassTrust, "a source is signed by another key than before, without a rotation"},
		{Threshold, ClassTrust, "fewer distinct trusted keys signed than the policy requires"},
		{TrustChanged, ClassTrust, "the project's trust documents differ from those you accepted"},
		{Stale, ClassTrust, "revocation data is older than the policy allows"},
		{LogProof, ClassTrust, "a transparency log proof is missing or wrong"},
		{HiddenChars, ClassTrust, "the text has characters that a reader cannot see"},
		{TokenInvalid, ClassDenied, "the capability token of a thread is not valid for it"},
		{PermissionDenied, ClassDenied, "the caller lacks a capability"},
		{PolicyDenied, ClassDenied, "a policy forbids it"},
		{ApprovalRequired, ClassDenied, "a person must approve, and rye cannot ask one here"},
		{ApprovalDenied, ClassDenied, "a person refused or did not answer in time"},
		{Cooldown, ClassDenied, "the version is younger than the policy's minimum age"},
		{ConsentRequired, ClassDenied, "a program of this project would run for the first time, or another user owns the project"},
		{SandboxUnavailable, ClassDenied, "this machine cannot enforce the required isolation"},
		{Network, ClassRemote, "the other side did not answer"},
		{RegistryError, ClassRemote, "the registry answered with an error"},
		{ProviderError, ClassRemote, "the model provider answered with an error"},
		{AuthRequired, ClassAuth, "a key to sign with, its passphrase, or credentials are needed"},
		{AuthFailed, ClassAuth, "credentials were refused"},
		{SessionExpired, ClassAuth, "the login has expired"},
		{LimitExceeded, ClassLimit, "a limit of turns, tokens, depth, spawns, duration, or of what a remote may send, is reached"},
		{BudgetExceeded, ClassLimit, "the spend limit is reached"},
		{ContextFull, ClassLimit, "the conversation is longer than the model can read"},
		{Overspent, ClassLimit, "a call to a model cost more than the most that its prices permit"},
		{ExecutionFailed, ClassFailed, "the work ran and failed"},
		{ModelRefused, ClassFailed, "the model refused to answer"},
		{AnswerEmpty, ClassRemote, "the model answered twice with nothing"},
		{AnswerCut, ClassLimit, "the model's answer reached its maximum length each time that it continued"},
		{Timeout, ClassFailed, "the work took longer than its timeout and was stopped"},
		{ResourceExceeded, ClassFailed, "the work exceeded a resource limit and was stopped"},
		{ReplayMismatch, ClassFailed, "a replay met a call that its recording does not contain, or a request that differs from the recorded one"},
		{ThreadState, ClassFailed, "the operation does not fit the state of the thread or run"},
		{Conflict, ClassFailed, "changes of a working copy do not fit what the project has now"},
		{Cancelled, ClassFailed, "the work was cancelled; the exit status is 130 at a terminal"},
		{FileSystemError, ClassMachine, "the operating system refused a file operation"},
		{UnknownError, ClassMachine, "a failure without a code of its own"},
		{Internal, ClassBug, "a bug in rye"},
	}
}
