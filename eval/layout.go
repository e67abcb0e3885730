package eval

import "fmt"

// The key layout of a run: the same keys on S3 and in a folder. Arguments have
// passed the Validate functions; keys use "/" always.

// RunsPrefix is where all runs live.
const RunsPrefix = "runs/"

// RunKey returns runs/<run>/<name>.
func RunKey(run, name string) string { return RunsPrefix + run + "/" + name }

// SpecKey is the frozen input of a run.
func SpecKey(run string) string { return RunKey(run, "spec.json") }

// ImagesKey maps the image tags of one shard to the digests that the run fixed.
// One file a shard, because an object store has no safe way to append to one
// that several workers write; a tag that an earlier shard fixed stays as it was.
func ImagesKey(run string, shard int) string {
	return RunKey(run, fmt.Sprintf("images/%05d.json", shard))
}

// ReportKey returns runs/<run>/report/<name>.
func ReportKey(run, name string) string { return RunKey(run, "report/"+name) }

// TrialPrefix is the folder of one trial, with a closing slash.
func TrialPrefix(t TrialID) string {
	return fmt.Sprintf("%s%s/tasks/%s/%d/%d/", RunsPrefix, t.RunID, t.InstanceID, t.Attempt, t.Round)
}

// ResultKey is the create-only record of a trial.
func ResultKey(t TrialID) string { return TrialPrefix(t) + "result.json" }

// TryPrefix is the folder of the n-th physical execution, with a closing slash.
// The token is fresh for each, so a worker that was cut off and runs on writes
// where nobody reads.
func TryPrefix(t TrialID, n int, token string) string {
	return fmt.Sprintf("%stry-%d-%s/", TrialPrefix(t), n, token)
}

// CASKey is the key of a shared blob by the hex SHA-256 of its bytes.
func CASKey(sha256hex string) string { return "cas/sha256/" + sha256hex }
