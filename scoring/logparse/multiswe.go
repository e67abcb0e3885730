package logparse

import (
	"strings"
	"sync"
)

const multiPrefix = "multi/"

// ForMultiSWEBench returns the parser for a row of Multi-SWE-bench. Rows of the
// benchmark itself have no number_interval; those that have one name parsers of
// a single range of pull requests, which are not here.
func ForMultiSWEBench(org, repo, numberInterval string, number int) (name string, ok bool) {
	if numberInterval != "" {
		return "", false
	}
	grammar, ok := multiGrammars()[org+"/"+repo]
	if !ok {
		return "", false
	}
	switch org + "/" + repo {
	case "facebook/zstd":
		// Some pull requests run another command, whose end is the only test.
		switch {
		case number >= 1831 && number <= 2703:
			grammar = "zstd_decoder"
		case number >= 1230 && number <= 1748:
			grammar = "zstd_pool"
		}
	case "expressjs/express":
		switch number {
		case 4212, 4852, 5555, 5841:
			grammar = "mocha"
		}
	}
	return multiPrefix + grammar, true
}

// multiGrammars is the grammar of each repository.
var multiGrammars = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	for grammar, repos := range map[string]string{
		"surefire":       "apache/dubbo fasterxml/jackson-core fasterxml/jackson-databind fasterxml/jackson-dataformat-xml",
		"surefire_plain": "alibaba/fastjson2",
		"surefire_pairs": "google/guava",
		"gson":           "google/gson",
		"gradle":         "elastic/logstash mockito/mockito",
		"gradle_cached": "junit-team/junit5 micronaut-projects/micronaut-core spotbugs/spotbugs Kotlin/kotlinx.coroutines " +
			"ankidroid/Anki-Android pinterest/ktlint streetcomplete/StreetComplete thunderbird/thunderbird-android",
		"jib": "googlecontainertools/jib",
		"go": "beego/beego caddyserver/caddy cli/cli concourse/concourse fatedier/frp gohugoio/hugo istio/istio " +
			"jesseduffield/lazygit junegunn/fzf labstack/echo nats-io/nats-server nektos/act prometheus/prometheus syncthing/syncthing",
		"go_parents": "etcd-io/etcd gin-gonic/gin go-gorm/gorm grpc/grpc-go zeromicro/go-zero",
		"cargo": "BurntSushi/ripgrep alacritty/alacritty bee-san/RustScan clap-rs/clap fish-shell/fish-shell helix-editor/helix " +
			"nushell/nushell rayon-rs/rayon rusqlite/rusqlite rust-lang/mdBook serde-rs/serde sharkdp/bat sharkdp/fd " +
			"tokio-rs/bytes tokio-rs/tokio tokio-rs/tracing",
		"ctest":       "OpenMathLib/OpenBLAS fluent/fluent-bit libgit2/libgit2 libsdl-org/SDL CGAL/cgal root-project/root",
		"ctest_ends":  "fmtlib/fmt nlohmann/json rdkit/rdkit simdjson/simdjson",
		"catch2":      "catchorg/Catch2",
		"automake":    "facebook/zstd jqlang/jq",
		"googletest":  "ponylang/ponyc yhirose/cpp-httplib",
		"redis":       "redis/redis",
		"valkey":      "valkey-io/valkey",
		"jest":        "anuraghazra/github-readme-stats iamkun/dayjs",
		"jest_times":  "darkreader/darkreader",
		"insomnia":    "Kong/insomnia",
		"mocha":       "axios/axios",
		"mocha_json":  "expressjs/express",
		"mocha_files": "mui/material-ui",
		"vitest":      "sveltejs/svelte vuejs/core",
	} {
		for _, repo := range strings.Fields(repos) {
			m[repo] = grammar
		}
	}
	return m
})

// multiParsers lists the grammars.
func multiParsers() []Parser {
	ps := []Parser{
		{"surefire", "Surefire, by class, coloured", surefireLines(withoutLetterCodes).parse},
		{"surefire_plain", "Surefire, by class", surefireLines(nil).parse},
		{"surefire_pairs", "old Surefire, class and counts on a line each", parseSurefirePairs},
		{"gson", "old Surefire, counts behind what a class printed", parseGson},
		{"gradle", "Gradle's tasks and tests", gradleSets(failedStays, false).parse},
		{"gradle_cached", "Gradle's tasks and tests, with a build cache", gradleSets(failedStays, true).parse},
		{"jib", "Gradle's tasks and tests, with a build cache", gradleSets(oneSet, true).parse},
		{"go", "go test -v", goSets(nil).parse},
		{"go_parents", "go test -v, subtests as their parent", goSets(goParent).parse},
		{"cargo", "cargo test", cargoSets.parse},
		{"ctest", "CTest", ctestSets(false).parse},
		{"ctest_ends", "CTest, failures without a time", ctestSets(true).parse},
		{"catch2", "CMake's and CTest's lines, in lower case", catch2Sets.parse},
		{"automake", "Automake's PASS:, FAIL: and SKIP: lines", automakeSets.parse},
		{"zstd_decoder", "make, ended in the decoder's folder once", onceSets("make[1]: Leaving directory '/home/zstd/doc/educational_decoder'")},
		{"zstd_pool", "the pool's tests, passed once", onceSets("PASS: all POOL tests")},
		{"googletest", "GoogleTest or Pony's runner, coloured or not", gtestSets.parse},
		{"redis", "redis' Tcl runner", redisSets(true).parse},
		{"valkey", "valkey's Tcl runner", redisSets(false).parse},
		{"jest", "jest --verbose, by file", jestSets{jestPlain}.parse},
		{"jest_times", "jest --verbose, by file, any time", jestSets{jestAny}.parse},
		{"insomnia", "jest or vitest, by file", insomniaSets.parse},
		{"mocha", "mocha's spec reporter", mochaSets.parse},
		{"mocha_json", "mocha's JSON reporter", mochaDocuments{}.parse},
		{"mocha_files", "mocha's JSON reporter, by file", mochaDocuments{files: true}.parse},
		{"vitest", "vitest --reporter=verbose", vitestSets.parse},
	}
	for i := range ps {
		ps[i].Name = multiPrefix + ps[i].Name
	}
	return ps
}
