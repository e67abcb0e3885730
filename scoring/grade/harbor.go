package grade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"harness/eval"
	"harness/scoring/logparse"
)

// Harbor 0.26 of November 2026. Its candidates change a sandbox; one that comes
// as a patch is applied in the task's folder, which need not be a repository.
var (
	harborRecipe = eval.Recipe{
		Name: "harbor",
		Apply: []eval.ApplyStep{
			{Name: "git-apply", Command: []string{"git", "apply", "--verbose", eval.PatchFile}},
			{Name: "patch", Command: []string{"patch", "--batch", "--forward", "-p1", "-i", eval.PatchFile}},
		},
	}
	harborRules = Rules{
		Name:    "harbor",
		Dialect: logparse.V5,
		Markers: true,
		Reward:  true,
	}
	harborProfile = Profile{Name: "harbor", Recipe: harborRecipe, Rules: harborRules, Families: []string{eval.FamilyHarbor}}
)

// rewardMarker starts the line on which an eval script copies a reward file:
// the file's name and its content without line ends.
const rewardMarker = ">>>>> Reward "

// Names of reward files.
const (
	rewardText = "reward.txt"
	rewardJSON = "reward.json"
)

// byReward ends a trial by what its own tests wrote as reward: it is resolved
// when that is 1. There is no official report in this form.
func (g *grading) byReward(got reading) error {
	if got.refused != "" {
		g.end(eval.TestsErrored, g.softBlame(), "the log can't be graded: "+refusals[got.refused])
		return nil
	}
	g.res.StatusMap = got.tests
	g.res.Tests = (&card{}).rows(got.tests, &g.flags)
	var file, content string
	var repeated bool
	r := reader{rules: &g.profile.Rules, open: g.in.Log}
	err := r.each(func(log io.Reader) (err error) {
		file, content, repeated, err = findReward(log)
		return err
	})
	if err != nil {
		return err
	}
	if repeated {
		g.flags.add(flagRewardRepeated)
		g.end(eval.TestsErrored, g.softBlame(), "the log has several rewards behind the test output, of which something printed one")
		return nil
	}
	if file == "" {
		g.flags.add(flagNoReward)
		g.end(eval.TestsErrored, g.softBlame(), "the tests wrote no reward")
		return nil
	}
	reward, err := parseReward(file, content)
	if err != nil {
		g.flags.add(flagBadReward)
		g.end(eval.TestsErrored, g.softBlame(), fmt.Sprintf("%s holds no reward: %v", file, err))
		return nil
	}
	if reward.clamped {
		g.flags.add(flagRewardCut)
	}
	g.res.Verdict.Reward = &reward.value
	switch why := fmt.Sprintf("the reward is %.3g, 1 is needed", reward.value); {
	case reward.value == 1:
		g.end(eval.Resolved, eval.BlameNone, "")
	case g.in.PatchGiven:
		g.end(eval.Unresolved, eval.BlameCandidate, why)
	default:
		g.end(eval.Unresolved, eval.BlameNone, why)
	}
	return nil
}

// findReward returns the reward behind the end marker: that of the eval script,
// whatever the tests print before. Only one can be its own, and a process that
// the tests left behind may have printed before it or after it.
func findReward(log io.Reader) (file, content string, repeated bool, err error) {
	ended := false
	lines := logparse.NewLineReader(log)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return file, content, repeated, nil
		}
		if err != nil {
			return "", "", false, err
		}
		ended = ended || bytes.HasPrefix(line, []byte(endMarker))
		rest, ok := bytes.CutPrefix(line, []byte(rewardMarker))
		if !ended || !ok {
			continue
		}
		name, text, _ := strings.Cut(string(rest), ": ")
		if name == rewardText || name == rewardJSON {
			repeated = repeated || file != ""
			file, content = name, text
		}
	}
}

type reward struct {
	value   float64 // 0 to 1
	clamped bool
}

func (r *reward) add(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%v is not a finite number", v)
	}
	in := min(1, max(0, v))
	r.clamped = r.clamped || in != v
	r.value += in
	return nil
}

// parseReward reads a reward file. Text is one number. JSON is one number, or an
// object of numbers: "reward" counts if it is there, else their mean, which is 1
// only if each of them is.
func parseReward(file, content string) (reward, error) {
	var r reward
	content = strings.TrimSpace(content)
	if content == "" {
		return r, errors.New("it is empty")
	}
	if file == rewardText {
		v, err := strconv.ParseFloat(content, 64)
		if (err != nil && !errors.Is(err, strconv.ErrRange)) || strings.ContainsAny(content, "xX_") {
			return r, fmt.Errorf("%.40q is not a number", content)
		}
		return r, r.add(v)
	}
	var doc any
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		return r, fmt.Errorf("not valid JSON: %w", err)
	}
	values, ok := doc.(map[string]any)
	if !ok {
		values = map[string]any{"reward": doc}
	}
	if v, ok := values["reward"]; ok {
		values = map[string]any{"reward": v}
	}
	if len(values) == 0 {
		return r, errors.New("the object is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // sums depend on the order
		v := values[name]
		n, ok := v.(float64)
		if b, isBool := v.(bool); isBool {
			// To Python, a truth value is a number.
			if ok = true; b {
				n = 1
			}
		}
		if !ok {
			return r, fmt.Errorf("%.40q is not a number", name)
		}
		if err := r.add(n); err != nil {
			return r, err
		}
	}
	r.value /= float64(len(values))
	return r, nil
}
