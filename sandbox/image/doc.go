// Package image makes container images from recipes and keeps them: in a
// containerd store for the sandboxes, and as OCI layouts in a cache folder, so
// that a new containerd imports them without building.
//
// It owns what a recipe means, how a layer is written and what an archive from
// outside must look like before a byte of it reaches the store. It runs nothing
// of a project on the host: the base comes from Debian's signed packages, every
// further step runs offline in a sandbox. It knows nothing of tasks, patches or
// grading.
package image
