package grade

import (
	"errors"
	"fmt"
	"slices"

	"harness/eval"
	"harness/scoring/logparse"
)

// ErrUnfit: a profile judges tasks of another kind.
var ErrUnfit = errors.New("the profile does not fit")

// Fits says, before anything is executed, whether the profile can judge the task:
// one by reward has no lists of tests, and the others have no reward; the log needs
// a parser that there is, and judging by change needs the publisher's results.
func (p Profile) Fits(t *eval.Task) error {
	if byReward := t.Family == eval.FamilyHarbor; byReward != p.Rules.Reward {
		return fmt.Errorf("%w: task %s can't be judged by profile %s; %s is for it", ErrUnfit, t.InstanceID, p.Name, ForFamily(t.Family).Name)
	}
	if _, ok := logparse.Lookup(t.LogParser); !ok && t.LogParser != "" && !p.Rules.Reward {
		return fmt.Errorf("task %s: %w", t.InstanceID, unknownParser(t.LogParser))
	}
	if p.Rules.Transitions && !hasBaseline(t) {
		return fmt.Errorf("task %s: profile %s: %w", t.InstanceID, p.Name, ErrNoBaseline)
	}
	return nil
}

// FitsAll is the first error of Fits.
func (p Profile) FitsAll(tasks []eval.Task) error {
	for i := range tasks {
		if err := p.Fits(&tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Reads reports whether the rules are meant for logs of the recipe of that name:
// the profile's own, or that of one to which it gives a second opinion.
func (p Profile) Reads(recipe string) bool {
	return p.Recipe.Name == recipe || slices.ContainsFunc(Profiles(), func(other Profile) bool {
		return other.Recipe.Name == recipe && slices.Contains(other.Also, p.Name)
	})
}

func unknownParser(name string) error {
	if name == "" {
		return fmt.Errorf("%w: the row names none; add the field log_parser, such as parse_log_pytest", ErrUnknownParser)
	}
	return fmt.Errorf("%w: %q; known are %s", ErrUnknownParser, name, logparse.Names())
}
