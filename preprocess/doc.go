// Package preprocess looks at a candidate patch before anything runs it: what it
// says (a unified-diff parser), which paths it touches (a policy), and what both
// mean for a trial (Inspect).
//
// It reads bytes and returns values: it runs nothing, opens no file, and needs
// memory in proportion to the patch, whatever the patch holds. Whether a patch
// applies is not decided here: the tools inside the sandbox do that.
package preprocess
