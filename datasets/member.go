package datasets

// members are the fields by which rows of other families carry what our own
// schema has under another name, or not at all. Their values are kept for the
// family's own code to read; see the family_*.go files.
var members = [...]string{
	// Multi-SWE-bench
	"org", "number", "title", "body", "base", "resolved_issues", "hints", "lang", "fix_patch", "tag", "number_interval",
	"fixed_tests", "f2p_tests", "p2p_tests", "s2p_tests", "n2p_tests", "run_result", "test_patch_result", "fix_patch_result",
	// SWE-bench-Live
	"test_cmds", "rebuild_cmds", "print_cmds", "docker_image",
	// SWE-rebench
	"install_config", "image_name", "interface", "pr_description",
	// SWE-bench Pro
	"fail_to_pass", "pass_to_pass", "Test Files", "selected_test_files_to_run", "before_repo_set_cmd", "repo_language",
	"dockerhub_tag", "run_script", "parser_script", "base_dockerfile", "instance_dockerfile", "requirements",
	// SWE-Gym
	"golden_patch", "dataset_name", "subset", "setup_script", "test_script", "environment_setup_commit",
}

const numMembers = len(members)

var memberIndex = func() map[string]int {
	m := make(map[string]int, numMembers)
	for i, name := range members {
		m[name] = i
	}
	return m
}()
