#!/usr/bin/env bash
# The demo: evaluates the example tasks with right, empty, wrong, hostile and
# mixed patches, then real SWE-bench tasks with their gold patches and unpatched, and
# compares every outcome with the expected one. Called by `make demo`, which
# installs and builds what it uses. Exit 0 only if all outcomes are as expected.
#
#   HARNESS_HOME   data of the local stack      (default /var/lib/harness)
#   HARNESS_TASKS  rows of real tasks           (default ../shared/data/release-pinned/tasks.jsonl)
set -euo pipefail
cd "$(dirname "$0")/.."

harness=bin/harness
check=bin/democheck
home=${HARNESS_HOME:-/var/lib/harness}
tasks=${HARNESS_TASKS:-../shared/data/release-pinned/tasks.jsonl}
index=${PIP_INDEX_URL:-https://pypi.org/simple}
stamp=$(date -u +%Y%m%dt%H%M%S)
out=$home/demo/$stamp
# One cheap task of each of six projects: seconds of tests, small dependencies.
real_ids=(
  django__django-16046
  pallets__flask-4992
  pydata__xarray-4966
  pytest-dev__pytest-10051
  sphinx-doc__sphinx-7889
  sympy__sympy-20590
)

say() { printf '\ndemo: %s\n' "$*"; }
die() {
  printf 'demo: error: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf 'demo:   %s\n' "$line" >&2; done
  exit 1
}

[[ -x $harness && -x $check ]] || die "$harness or $check is missing" "Run: make demo"
[[ $(id -u) -eq 0 ]] || die "sandboxes need root" "Run as root: sudo make demo"
mkdir -p "$out"

sets=()     # SET=TRIALS.parquet=EXPECTED.json, what the table compares
reports=()  # report folders, in order
eval_ids=() # -i flags of the next evaluation
real=       # folder of the real tasks, once they can run

# select_ids EXPECTED: evaluate just the instances that have an expectation.
select_ids() {
  eval_ids=()
  local id
  while read -r id; do eval_ids+=(-i "$id"); done < <("$check" ids "$1")
  [[ ${#eval_ids[@]} -gt 0 ]] || die "no instances in $1"
}

# evaluate SET EXPECTED FLAG...: one run, its report in $out/SET.
evaluate() {
  local set=$1 expected=$2 rc=0 run
  shift 2
  run=demo-$set-$stamp
  say "harness eval --run-id $run ($set)"
  select_ids "$expected"
  "$harness" eval "$@" "${eval_ids[@]}" --run-id "$run" -o "$out/$set" --json >"$out/$set.report.json" || rc=$?
  # 4 is "finished, with results missing": the table below names them.
  [[ $rc -eq 0 || $rc -eq 4 ]] ||
    die "the run $run ended with exit code $rc" \
      "What it said is above. See more: $harness runs show $run; go on with it: $harness resume $run"
  local file
  for file in summary.md trials.parquet; do
    [[ -s $out/$set/$file ]] || die "the run $run left no $out/$set/$file" "See: $harness runs show $run"
  done
  sets+=("$set=$out/$set/trials.parquet=$expected")
  reports+=("$out/$set")
}

say "the local stack (Temporal, containerd, worker)"
"$harness" up

say "images of the example tasks (the first time: some minutes for the base images; later: seconds)"
"$harness" image build examples/mini/images

for predictions in examples/mini/predictions/*.jsonl; do
  set=$(basename "$predictions" .jsonl)
  evaluate "$set" "examples/mini/expected/$set.json" -d examples/mini -p "$predictions"
done

# prepare_real: the dataset and its images, made once for a set of ids and rows.
# Leaves real empty when they can't be had. Called plainly: inside a condition
# bash would ignore what fails in it.
prepare_real() {
  local dir=$home/demo/release-pinned
  local key id flags=()
  key="$(sha256sum <"$tasks") ${real_ids[*]}"
  if [[ ! -f $dir/made-from || $(<"$dir/made-from") != "$key" ]]; then
    if ! "$check" reach "$index/flask/"; then
      say "real tasks are skipped: the package index $index does not answer, and they are not on this machine yet"
      return
    fi
    for id in "${real_ids[@]}"; do flags+=(-i "$id"); done
    say "real tasks: importing ${#real_ids[@]} of $tasks (once; some minutes: images are built, test lists taken from gold and unpatched runs)"
    rm -rf "$dir"
    "$harness" dataset import --from release-pinned "$tasks" -o "$dir" "${flags[@]}"
    printf '%s\n' "$key" >"$dir/made-from"
  fi
  # Also after the import: a containerd that was made anew gets its images back.
  say "real tasks: images (built ones are not built again)"
  "$harness" image build "$dir/images"
  real=$dir
}

if [[ ! -f $tasks ]]; then
  say "real tasks are skipped: there is no file $tasks (HARNESS_TASKS=FILE names one)"
else
  prepare_real
fi
if [[ -n $real ]]; then
  "$check" expect resolved "${real_ids[@]}" >"$out/real-gold.expected.json"
  "$check" expect "not resolved" "${real_ids[@]}" >"$out/real-noop.expected.json"
  evaluate real-gold "$out/real-gold.expected.json" -d "$real" --gold
  evaluate real-noop "$out/real-noop.expected.json" -d "$real" --noop
fi

say "outcomes"
rc=0
"$check" table "${sets[@]}" || rc=$?

say "results"
for report in "${reports[@]}"; do
  printf '  %s\n  %s\n' "$report/summary.md" "$report/trials.parquet"
done
printf '  %-22s %s\n' "Temporal's web UI:" "$("$harness" status --json | "$check" field temporal_ui)"
printf '  %-22s %s\n' "a task's log:" "$harness task logs demo-gold-$stamp $("$check" ids examples/mini/expected/gold.json | head -n 1)"
printf '  %-22s %s\n' "stop the stack:" "$harness down"
exit "$rc"
