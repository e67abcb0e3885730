#!/usr/bin/env bash
# Installs what the harness needs on this machine and is safe to run again:
# what is there at the right version is left alone.
#
#   deploy/setup.sh [run|test|lint|all]     (default: run)
#
#   run    Debian packages, containerd with its runc shim, runsc, Temporal's CLI
#   test   run, and MinIO and workflowcheck
#   lint   golangci-lint and workflowcheck (no Debian packages, no root)
#   all    everything
#
# Tools are built from source by Go, checked against the go.sum of their module
# in deploy/tools, and put into $HARNESS_TOOLS/bin. The default of HARNESS_TOOLS
# is $HARNESS_HOME/tools; of HARNESS_HOME, /var/lib/harness for root and
# ~/.local/share/harness for others. Nothing goes on the system's PATH: a shim
# of another containerd version found there would break an installed Docker.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=/var/lib/harness
[[ $(id -u) -eq 0 || -z ${HOME:-} ]] || home=$HOME/.local/share/harness
tools=${HARNESS_TOOLS:-${HARNESS_HOME:-$home}/tools}
PATH=$PATH:/usr/local/go/bin:/usr/sbin:/sbin
started=$SECONDS
step=0 steps=0
missing_packages=()

say() { printf 'setup: %s\n' "$*"; }

# die REASON NEXT-STEP...: one line says what is wrong, the others what to do.
die() {
  printf 'setup: error: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf 'setup:   %s\n' "$line" >&2; done
  exit 1
}

usage() {
  sed -n '2,/^set -/{s/^# \{0,1\}//;/^set -/d;p;}' "${BASH_SOURCE[0]}"
}

# begin TEXT: announces one step of the plan.
begin() {
  step=$((step + 1))
  printf 'setup: [%d/%d] %s\n' "$step" "$steps" "$1"
}

# --- Debian packages -------------------------------------------------------

# What the harness calls, and the package that brings it. A command that is
# there satisfies its line, so other distributions work when prepared by hand.
readonly debian='
runc        runc
mmdebstrap  mmdebstrap
mkfs.ext4   e2fsprogs
mount       mount
losetup     mount
git         git
'

install_packages() {
  local command package
  missing_packages=()
  while read -r command package; do
    [[ -n $command ]] || continue
    command -v "$command" >/dev/null 2>&1 || missing_packages+=("$package")
  done <<<"$debian"
  if [[ $testing == yes ]]; then
    # Verdicts are compared with those of the official graders, which are Python.
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing_packages+=(python3-venv)
    # The documentation's commands are tried.
    command -v jq >/dev/null 2>&1 || missing_packages+=(jq)
  fi
  # Base images need Debian's keys and the package index needs certificate roots.
  [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || missing_packages+=(debian-archive-keyring)
  [[ -e /etc/ssl/certs/ca-certificates.crt ]] || missing_packages+=(ca-certificates)

  if [[ ${#missing_packages[@]} -eq 0 ]]; then
    begin "Debian packages: already there"
    return
  fi
  local install="apt-get install -y --no-install-recommends ${missing_packages[*]}"
  begin "Debian packages: installing ${missing_packages[*]} (usually half a minute)"
  if ! command -v apt-get >/dev/null 2>&1; then
    die "this machine has no apt-get, and these packages are missing: ${missing_packages[*]}" \
      "Install what brings runc, mmdebstrap, mkfs.ext4, mount, losetup and git by your system's own means, then run this again."
  fi
  if [[ $(id -u) -ne 0 ]]; then
    say "  left for later: installing packages needs root"
    return
  fi
  local t=$SECONDS log=$tools/log/packages.log
  # A machine that has never asked for the package lists has none.
  if ! { apt-get -o DPkg::Lock::Timeout=300 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends \
      "${missing_packages[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    die "installing Debian packages failed; the whole log is in $log" \
      "If the mirror could not be reached, check /etc/apt/sources.list and the proxy, then run this again." \
      "By hand: apt-get update && $install"
  fi
  missing_packages=()
  say "  done in $((SECONDS - t)) s"
}

# --- Tools built by Go -----------------------------------------------------

# check_go: a Go that can build the tools, or a message that says which one is needed.
check_go() {
  local want out
  want=$(sed -n 's/^go \([0-9.]*\).*/\1/p' "$here/tools/containerd/go.mod")
  command -v go >/dev/null 2>&1 || die "Go is not on the PATH" \
    "Install Go $want or later from https://go.dev/dl/ and put its bin folder on the PATH."
  if ! out=$(cd "$here/tools/containerd" && go list -m 2>&1); then
    die "this Go can't build the tools: ${out##*go: }" \
      "Install Go $want or later from https://go.dev/dl/, or let Go fetch it: GOTOOLCHAIN=auto."
  fi
  goversion=$(cd "$here/tools/containerd" && go env GOVERSION GOOS GOARCH | tr '\n' ' ')
}

# stamp NAME DIR LDFLAGS BINARY...: the text that the tool's stamp file must
# hold for the tool to count as installed. Sizes catch a file cut short or replaced.
stamp() {
  local name=$1 dir=$2 ldflags=$3 b
  shift 3
  printf 'tool %s\ngo %s\nflags %s\n' "$name" "$goversion" "$ldflags"
  (cd "$here/tools/$dir" && sha256sum go.mod go.sum)
  for b in "$@"; do
    printf 'file %s %s\n' "$b" "$(stat -c %s "$tools/bin/$b" 2>/dev/null || echo absent)"
  done
}

# tool NAME DIR MODULE USUAL LDFLAGS PACKAGE=BINARY...
# DIR is the tools module in deploy/tools that pins MODULE. VERSION in LDFLAGS
# stands for the pinned version.
tool() {
  local name=$1 dir=$2 module=$3 usual=$4 ldflags=$5 version pair b
  shift 5
  local binaries=()
  for pair in "$@"; do binaries+=("${pair#*=}"); done
  version=$(awk -v m="$module" '$1 == m && $2 ~ /^v/ { print $2 }' "$here/tools/$dir/go.mod")
  [[ -n $version ]] ||
    die "deploy/tools/$dir/go.mod does not pin $module" "Restore it: git checkout deploy/tools/$dir"
  ldflags="-s -w ${ldflags//VERSION/$version}"

  if [[ -f $tools/stamps/$name && $(stamp "$name" "$dir" "$ldflags" "${binaries[@]}") == "$(<"$tools/stamps/$name")" ]]; then
    begin "$name $version: already there"
    return
  fi
  begin "$name $version: building ${binaries[*]} (usually $usual the first time)"
  local t=$SECONDS log=$tools/log/$name.log
  rm -rf "$tools/new" && mkdir -p "$tools/new"
  : >"$log"
  for pair in "$@"; do
    if ! (cd "$here/tools/$dir" && go build -trimpath -ldflags "$ldflags" -o "$tools/new/${pair#*=}" "${pair%%=*}") >>"$log" 2>&1; then
      explain_build "$name" "$log"
    fi
  done
  for b in "${binaries[@]}"; do
    # A sandbox's helper runs where no loader is: a dynamic runsc fails there with "no such file".
    if ldd "$tools/new/$b" >/dev/null 2>&1; then
      die "$b was linked dynamically although CGO_ENABLED=0 was set" \
        "Look for a Go setting that forces an external linker: go env GOFLAGS GOEXPERIMENT."
    fi
  done
  # Old stamp first, new one last: a crash in between means "build again", never "is there".
  rm -f "$tools/stamps/$name"
  for b in "${binaries[@]}"; do mv -f "$tools/new/$b" "$tools/bin/$b"; done
  stamp "$name" "$dir" "$ldflags" "${binaries[@]}" >"$tools/stamps/$name.new"
  mv -f "$tools/stamps/$name.new" "$tools/stamps/$name"
  say "  done in $((SECONDS - t)) s"
}

# explain_build NAME LOG: why a build failed, as far as the log tells, and what to do.
explain_build() {
  local name=$1 log=$2 hint="Run this again; if it fails the same way, the log says which package."
  if grep -qE 'module lookup disabled|dial tcp|no such host|i/o timeout|connection refused|proxyconnect|TLS handshake' "$log"; then
    hint="The Go module proxy could not be reached: check the network, HTTPS_PROXY and GOPROXY ($(go env GOPROXY))."
  elif grep -q 'checksum mismatch\|SECURITY ERROR' "$log"; then
    hint="A downloaded module is not the one that was pinned. Do not go on; try: go clean -modcache, and check GOPROXY ($(go env GOPROXY))."
  elif grep -q 'no space left' "$log"; then
    hint="The disk is full. Building everything needs about 8 GB in $(go env GOCACHE) and $(go env GOMODCACHE), and 1 GB in $tools: free some, or move them (GOCACHE, GOMODCACHE, HARNESS_TOOLS)."
  elif grep -qE 'signal: killed|cannot allocate memory|out of memory' "$log"; then
    hint="The compiler ran out of memory: building needs about 3 GB; close something or add swap, then run this again."
  elif grep -q 'permission denied' "$log"; then
    hint="Make the folder named above writable, or set GOCACHE, GOMODCACHE or HARNESS_TOOLS to one that is."
  fi
  tail -n 15 "$log" >&2
  die "building $name failed; the whole log is in $log" "$hint"
}

build() {
  case $1 in
  containerd)
    local c=github.com/containerd/containerd/v2
    tool containerd containerd "$c" "1.5 minutes" "-X $c/version.Version=VERSION" \
      "$c/cmd/containerd=containerd" "$c/cmd/containerd-shim-runc-v2=containerd-shim-runc-v2" "$c/cmd/ctr=ctr"
    ;;
  runsc)
    tool runsc runsc gvisor.dev/gvisor "1 minute" "-X gvisor.dev/gvisor/runsc/version.version=VERSION" \
      gvisor.dev/gvisor/runsc=runsc gvisor.dev/gvisor/shim=containerd-shim-runsc-v1
    ;;
  temporal)
    tool temporal temporal github.com/temporalio/cli "1.5 minutes" "-X github.com/temporalio/cli/temporalcli.Version=VERSION" \
      github.com/temporalio/cli/cmd/temporal=temporal
    ;;
  minio)
    tool minio minio github.com/minio/minio "1.5 minutes" "" github.com/minio/minio=minio
    ;;
  golangci-lint)
    tool golangci-lint lint github.com/golangci/golangci-lint/v2 "1 minute" "" \
      github.com/golangci/golangci-lint/v2/cmd/golangci-lint=golangci-lint
    ;;
  workflowcheck)
    tool workflowcheck lint go.temporal.io/sdk/contrib/tools/workflowcheck "10 seconds" "" \
      go.temporal.io/sdk/contrib/tools/workflowcheck=workflowcheck
    ;;
  esac
}

# --- Plan ------------------------------------------------------------------

packages=yes testing=no
case ${1:-run} in
run) plan=(containerd runsc temporal) ;;
test) plan=(containerd runsc temporal minio workflowcheck) testing=yes ;;
lint) plan=(golangci-lint workflowcheck) packages=no ;;
all) plan=(containerd runsc temporal minio workflowcheck golangci-lint) testing=yes ;;
-h | --help)
  usage
  exit 0
  ;;
*)
  usage >&2
  exit 2
  ;;
esac
steps=${#plan[@]}
[[ $packages == no ]] || steps=$((steps + 1))

if ! mkdir -p "$tools/bin" "$tools/stamps" "$tools/log" 2>/dev/null || [[ ! -w $tools/bin || ! -w $tools/stamps || ! -w $tools/log ]]; then
  die "the tools folder $tools can't be written" \
    "Choose another folder: export HARNESS_TOOLS=\$HOME/harness-tools"
fi
tools=$(cd "$tools" && pwd)
say "tools folder: $tools"

# Two set-ups at once would build the same things twice and rename under each other.
exec 9>"$tools/.lock"
if ! flock -n 9; then
  say "another set-up is at work in $tools; waiting for it"
  flock 9
fi
trap 'rm -rf "$tools/new"' EXIT

# The user's own Go flags are for the user's own code. The module's go.sum is
# the list of checksums, so it must not change by itself.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off
check_go

[[ $packages == no ]] || install_packages
for t in "${plan[@]}"; do build "$t"; done

if [[ ${#missing_packages[@]} -ne 0 ]]; then
  die "the tools are built, but these Debian packages are missing: ${missing_packages[*]}" \
    "As root: apt-get update && apt-get install -y --no-install-recommends ${missing_packages[*]}" \
    "(Root is needed for that, and later to run sandboxes; not to build.)"
fi
say "everything is in place ($((SECONDS - started)) s)"
