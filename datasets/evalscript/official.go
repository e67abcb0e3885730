package evalscript

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"harness/eval"
)

// Form is a generation of the official eval scripts.
type Form int

// Forms, newest first.
const (
	V5 Form = iota // as rows carry them since release 5
	V4             // as releases 3.0 to 4.1 make them; 2.x only lacks the markers
)

// ErrNewerOnly: there is no script of the older form for a task.
var ErrNewerOnly = errors.New("its older script fetches pictures while tests run, so there is one of the newer form only")

// Official writes the script that a release of the official harness has for a
// task, from the spec table. It is theirs to the byte, except that file names
// which a shell or git would take for something else are quoted, and that the end
// mark of the test patch is never a text of the patch.
func Official(t *eval.Task, form Form) (string, error) {
	r, s, err := find(t)
	if err != nil {
		return "", err
	}
	w := writer{task: t, repo: r, spec: s, form: form}
	if w.files, err = testFiles(t); err != nil {
		return "", err
	}
	switch {
	case strings.IndexByte(t.TestPatch, 0) >= 0:
		return "", fmt.Errorf("test_patch: %w", ErrNUL)
	case r.style == stylePython:
		return w.python(), nil
	case r.style == styleMultimodal && form == V4:
		return "", ErrNewerOnly
	case form == V4:
		return w.multilingual4(), nil
	case r.style == styleMultimodal:
		return w.multimodal(), nil
	default:
		return w.multilingual(), nil
	}
}

type writer struct {
	task  *eval.Task
	repo  *repoSpec
	spec  *spec
	form  Form
	files Touched
}

var (
	activate = []string{"source /opt/miniconda3/bin/activate", "conda activate testbed"}
	enter    = []string{"cd /testbed", "git config --global --add safe.directory /testbed"}
)

// record shows what is about to be tested.
func (w *writer) record() []string {
	return []string{"git status", "git show", "git -c core.fileMode=false diff " + w.base()}
}

func (w *writer) base() string { return Quote(w.task.BaseCommit) }

func (w *writer) python() string {
	reset := w.checkout(w.files.Changed)
	var before []string
	if w.form == V5 {
		// New files stand in the list, too: git then restores none of them.
		reset = w.checkout(headerNames(w.task.TestPatch))
		before = w.repo.BeforeTest[w.task.InstanceID]
	}
	test := strings.Join(append(slices.Clone(w.spec.Test), directives(w.task)...), " ")
	return Join(
		Header, activate, enter[:1], w.spec.Eval, enter[1:], enter[:1], w.record(), activate, w.spec.Install,
		[]string{reset, w.apply("git apply -v -", w.task.TestPatch)}, before, Between(test), []string{reset},
	)
}

func (w *writer) multilingual4() string {
	reset := `echo "No test files to reset"`
	if len(w.files.Changed) > 0 {
		reset = w.checkout(w.files.Changed)
	}
	return Join(
		Header, enter, enter[:1], []string{reset, w.apply("git apply --verbose --reject -", w.task.TestPatch)},
		w.spec.Build, Between(w.spec.Test...), []string{reset},
	)
}

func (w *writer) multilingual() string {
	reset := w.restore(w.files.Changed)
	test := "(" + strings.Join(w.spec.Test, " && ") + ") | cat"
	return Join(
		Header, enter, w.record(), reset, []string{w.apply("git apply -v -", w.task.TestPatch)},
		w.spec.Build, Between(test), reset,
	)
}

// syncPackages installs what a patch's package.json asks for.
const syncPackages = `if ! git diff --quiet HEAD -- package.json 2>/dev/null; then ` +
	`echo "package.json changed by patch; re-syncing dependencies"; ` +
	`export PUPPETEER_SKIP_DOWNLOAD=true PUPPETEER_SKIP_CHROMIUM_DOWNLOAD=true; ` +
	`if [ -f yarn.lock ]; then timeout 900 yarn install --silent > /dev/null 2>&1 || true; ` +
	`else timeout 900 npm install --silent > /dev/null 2>&1 || true; fi; ` +
	`chmod -R a+rX node_modules > /dev/null 2>&1 || true; fi`

// copyPictures brings the binary files of a test patch, which its text has not.
const copyPictures = "test -d /swebench/image_assets/test_patch && cp -a /swebench/image_assets/test_patch/. /testbed/ 2>/dev/null || true"

func (w *writer) multimodal() string {
	reset := w.restore(w.knownByNewName())
	patch, binary := withoutBinaries(w.task.TestPatch)
	var apply []string
	if patch != "" {
		apply = append(apply, w.apply("git apply -v -", patch))
	}
	if binary {
		apply = append(apply, copyPictures)
	}
	return Join(
		Header, enter, []string{"source $NVM_DIR/nvm.sh"}, w.record(), reset, apply,
		w.spec.Build, []string{syncPackages}, Between(strings.Join(w.spec.Test, " ; ")), reset,
	)
}

// restore brings the test files back to the base commit and removes new ones.
func (w *writer) restore(known []string) []string {
	var steps []string
	if len(known) > 0 {
		steps = append(steps, w.checkout(known))
	}
	if added := w.added(); len(added) > 0 {
		steps = append(steps, "rm -f "+operands(added))
	}
	if len(steps) == 0 {
		return []string{`echo "No test files to reset"`}
	}
	return []string{strings.Join(steps, " && ")}
}

func (w *writer) checkout(names []string) string {
	return "git checkout " + w.base() + " " + pathspecs(names)
}

// added are the files that only the patch brings. A renamed file counts as known.
func (w *writer) added() []string {
	renamed := make(map[string]bool)
	for line := range strings.SplitSeq(w.task.TestPatch, "\n") {
		if name, ok := strings.CutPrefix(line, "rename to "); ok {
			renamed[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(w.files.Added), func(name string) bool { return renamed[name] })
}

// knownByNewName are the files that a patch does not bring, by their names
// behind it: of a renamed one git finds none, and restores nothing at all.
func (w *writer) knownByNewName() []string {
	added := make(map[string]bool)
	for _, name := range w.added() {
		added[name] = true
	}
	return slices.DeleteFunc(headerNames(w.task.TestPatch), func(name string) bool { return added[name] })
}

// apply feeds the patch as the official scripts do, with a newline behind it
// whether or not it has one.
func (w *writer) apply(command, patch string) string {
	end := endMark(patch)
	return command + " <<'" + end + "'\n" + patch + "\n" + end
}

// headerName finds the new name of each file of a patch the way the official
// harness does: anywhere in the text, also inside a hunk.
var headerName = regexp.MustCompile(`diff --git a/.* b/(.*)`)

func headerNames(patch string) []string {
	var out []string
	for _, m := range headerName.FindAllStringSubmatch(patch, -1) {
		out = append(out, m[1])
	}
	return out
}

// notTests are endings of files that are not given to a test runner.
var notTests = []string{".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml"}

// directives are the arguments by which a Python test runner is told what to run.
func directives(t *eval.Task) []string {
	var out []string
	for _, name := range headerNames(t.TestPatch) {
		if slices.ContainsFunc(notTests, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		if t.Repo == "django/django" { // its runner takes module names
			name = strings.TrimPrefix(strings.TrimSuffix(name, ".py"), "tests/")
			out = append(out, Quote(strings.ReplaceAll(name, "/", ".")))
			continue
		}
		out = append(out, operands([]string{name}))
	}
	return out
}

// withoutBinaries leaves out the files of a patch whose content is not in it.
func withoutBinaries(patch string) (text string, dropped bool) {
	lines := strings.Split(patch, "\n")
	var kept []string
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && !strings.HasPrefix(lines[j], "diff --git ") {
			j++
		}
		if slices.ContainsFunc(lines[i:j], func(l string) bool {
			return strings.HasPrefix(l, "Binary files ") && strings.HasSuffix(l, " differ")
		}) {
			dropped = true
		} else {
			kept = append(kept, lines[i:j]...)
		}
		i = j
	}
	return strings.Join(kept, "\n"), dropped
}
