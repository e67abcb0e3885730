// Package tree reads folders that others made: the files of a task, or a folder
// of such folders.
//
// It owns containment and bounds. Nothing outside of the folder is opened, not
// through links either; only regular files are read, and how much of them is
// limited. It knows nothing of what the files mean.
package tree
