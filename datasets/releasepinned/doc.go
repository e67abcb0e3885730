// Package releasepinned turns tasks that run from a released source archive,
// instead of a git checkout of the project, into a dataset folder: image
// recipes, lock files, and rows whose eval script needs no conda and no network.
//
// It owns which files of the package index a task needs, how its tests are
// called, and which of the published tests count once they have been observed
// (Freeze). It runs nothing itself.
package releasepinned
