package evalscript_test

import (
	"strings"
	"testing"

	"harness/datasets/evalscript"
)

func TestHarborScript(t *testing.T) {
	got := evalscript.Harbor{
		Env: []evalscript.EnvVar{{"A", "x y"}, {"B", "$(touch /x)'"}}, Test: []string{"bash", "/tests/run tests.sh"}, ByExitCode: true,
	}.Script()
	const want = `#!/bin/bash
mkdir -p /logs/verifier /logs/agent /logs/artifacts
rm -rf /logs/verifier/reward.txt /logs/verifier/reward.json
export A='x y'
export B='$(touch /x)'\'''
echo '>>>>> Start Test Output'
bash '/tests/run tests.sh'
code=$?
echo
echo '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $code"
if [ $code -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
for file in /logs/verifier/reward.json /logs/verifier/reward.txt; do
  if [ -f "$file" ]; then
    echo ">>>>> Reward ${file##*/}: $(head -c 65536 "$file" | tr '\r\n\000' '   ')"
    break
  fi
done
exit $code
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if got := (evalscript.Harbor{Test: []string{"/tests/test.sh"}}).Script(); strings.Contains(got, "echo 1") {
		t.Errorf("a reward is written for tests that write one:\n%s", got)
	}
}

func TestIsEnvName(t *testing.T) {
	for name, want := range map[string]bool{"A": true, "_a1": true, "": false, "1A": false, "A B": false, "A=B": false, "A\n": false, "É": false, strings.Repeat("A", 201): false} {
		if evalscript.IsEnvName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
