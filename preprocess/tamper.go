package preprocess

import (
	"path"
	"slices"
	"strings"
)

// TamperPrefix starts the rule of every finding about a file that steers how
// tests are run; the word behind it is the tamper flag.
const TamperPrefix = "tamper_"

// steer says by which names files of one kind are known.
type steer struct {
	word     string
	severity Severity
	names    []string // last path part
	suffixes []string // of the last path part
	dirs     []string // a folder anywhere in the path
	roots    []string // first path part
	detail   string   // what such a file does
}

// steering lists the files that steer a test run.
var steering = []steer{
	{word: "conftest", severity: Medium, names: []string{"conftest.py"}, detail: "pytest runs it before the tests"},
	{word: "sitecustomize", severity: High, names: []string{"sitecustomize.py", "usercustomize.py"}, detail: "python runs it at every start"},
	{word: "pth", severity: High, suffixes: []string{".pth"}, detail: "python may run its lines at every start"},
	{word: "pytest_ini", severity: Medium, names: []string{"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}, detail: "it configures pytest"},
	{word: "tox_ini", severity: Low, names: []string{"tox.ini", "noxfile.py"}, detail: "it configures test runs"},
	{word: "setup_cfg", severity: Low, names: []string{"setup.cfg"}, detail: "it may configure pytest and plugins"},
	{word: "setup_py", severity: Low, names: []string{"setup.py"}, detail: "it runs when the project is installed"},
	{word: "pyproject", severity: Low, names: []string{"pyproject.toml"}, detail: "it may configure pytest and plugins"},
	{word: "pytest_plugin", severity: High, names: []string{"entry_points.txt"}, dirs: []string{"_pytest"}, detail: "pytest loads it as a plugin or as a part of itself"},
	{word: "coverage_config", severity: Low, names: []string{".coveragerc"}, detail: "it may make python load code at every start"},
	{word: "package_json", severity: Low, names: []string{"package.json"}, detail: "its scripts are test commands"},
	{word: "js_test_config", severity: Medium, names: append(jsConfigs("jest.config", "jest.setup", "vitest.config", "vitest.workspace", "vite.config", ".mocharc", "karma.conf", "playwright.config", "cypress.config", "ava.config"),
		"mocha.opts", ".taprc", "testem.js"), detail: "it configures a JavaScript test runner"},
	{word: "js_build_config", severity: Low, names: append(jsConfigs("babel.config", ".babelrc"), "tsconfig.json", ".swcrc"), detail: "it changes the code that the tests load"},
	{word: "makefile", severity: Low, names: []string{"Makefile", "makefile", "GNUmakefile"}, detail: "its targets may be test commands"},
	{word: "build_config", severity: Low, names: []string{"CMakeLists.txt", "meson.build", "configure.ac", "build.gradle", "build.gradle.kts", "pom.xml", "build.rs", "Rakefile"},
		detail: "it builds the tests"},
	{word: "test_config", severity: Medium, names: []string{"phpunit.xml", "phpunit.xml.dist", ".rspec", "nextest.toml", "junit-platform.properties"}, detail: "it configures a test runner"},
	{word: "ci_config", severity: Info, dirs: []string{".github", ".circleci"}, names: []string{".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile"}, detail: "it steers the project's own checks"},
	{word: "git_config", severity: Medium, names: []string{".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig"}, detail: "git obeys it"},
	{word: "package_index", severity: High, names: []string{"pip.conf", "pip.ini", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pydistutils.cfg", ".condarc"}, detail: "it says where packages come from"},
	{word: "dependencies", severity: Low, names: []string{"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock",
		"requirements.txt", "environment.yml", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock"}, detail: "it changes what is installed"},
	{word: "path_shim", severity: High, roots: []string{"pytest.py", "pytest", "unittest.py", "unittest", "pluggy.py", "pluggy", "py.py", "tox.py", "nose.py", "doctest.py"},
		detail: "it takes the place of the test runner's own module"},
	{word: "shell_startup", severity: High, names: []string{".bashrc", ".bash_profile", ".profile", ".zshrc", ".bash_env", ".inputrc", ".envrc"}, detail: "a shell may run it"},
}

// named finds entries of steering by the last path part.
var named = func() map[string][]*steer {
	m := map[string][]*steer{}
	for i := range steering {
		for _, n := range steering[i].names {
			m[n] = append(m[n], &steering[i])
		}
	}
	return m
}()

// shims are commands that a test run looks up on the PATH.
var shims = map[string]bool{
	"pytest": true, "py.test": true, "python": true, "python3": true, "pip": true, "tox": true, "nox": true, "node": true, "npm": true, "npx": true,
	"yarn": true, "pnpm": true, "jest": true, "mocha": true, "vitest": true, "karma": true, "make": true, "cmake": true, "ctest": true, "go": true, "cargo": true,
	"mvn": true, "gradle": true, "bundle": true, "ruby": true, "rspec": true, "php": true, "phpunit": true, "git": true, "bash": true, "sh": true, "env": true, "timeout": true,
}

var shimDirs = map[string]bool{"bin": true, "sbin": true, ".bin": true}

func jsConfigs(stems ...string) []string {
	var out []string
	for _, s := range stems {
		for _, ext := range []string{"", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".json", ".yml", ".yaml"} {
			out = append(out, s+ext)
		}
	}
	return out
}

// tamper names the steering files that f touches, under its old and its new name.
func (c *checker) tamper(f *File) {
	c.steers(f.NewName, f.Line)
	if f.OldName != f.NewName {
		c.steers(f.OldName, f.Line)
	}
}

func (c *checker) steers(p string, line int) {
	if p == "" || len(p) > maxPath {
		return
	}
	p = path.Clean(p)
	if c.tests[p] {
		c.add(TamperPrefix+"test_file", Medium, p, line, "the hidden tests bring this file")
	}
	base := path.Base(p)
	for _, s := range named[base] {
		c.add(TamperPrefix+s.word, s.severity, p, line, s.detail)
	}
	root, _, _ := strings.Cut(p, "/")
	for i := range steering {
		s := &steering[i]
		found := slices.Contains(s.roots, root)
		for _, suffix := range s.suffixes {
			found = found || strings.HasSuffix(base, suffix)
		}
		for _, d := range s.dirs {
			found = found || strings.HasPrefix(p, d+"/") || strings.Contains(p, "/"+d+"/")
		}
		if found {
			c.add(TamperPrefix+s.word, s.severity, p, line, s.detail)
		}
	}
	if shims[base] && shimDirs[path.Base(path.Dir(p))] {
		c.add(TamperPrefix+"path_shim", High, p, line, "it may be found on the PATH in place of the real command")
	}
}
