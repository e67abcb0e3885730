#!/bin/bash
set -uxo pipefail
cd /testbed
[ -d .git ] || { g=$(find . -maxdepth 2 -mindepth 2 -type d -name .git -print -quit); [ -n "$g" ] && cd "${g%/.git}"; }
git config --global --add safe.directory "$PWD"
repository=$PWD
git checkout 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a -- t/test_a.txt t/gone.py
rm -f -- 't/$(touch pwned).py'
git apply --reject --whitespace=nowarn - <<'EOF_2369bdc20a3baf89'
diff --git a/t/test_a.txt b/t/test_a.txt
--- a/t/test_a.txt
+++ b/t/test_a.txt
@@ -1 +1,2 @@
 old
+EOF_114329324912
diff --git "a/t/$(touch pwned).py" "b/t/$(touch pwned).py"
new file mode 100644
--- /dev/null
+++ "b/t/$(touch pwned).py"
@@ -0,0 +1 @@
+new
diff --git a/t/gone.py b/t/gone.py
deleted file mode 100644
--- a/t/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
EOF_2369bdc20a3baf89
cat > /tmp/harness-tests.sh <<'EOF_114329324912'
exec 3>&1 4>&2 > /tmp/harness-before.log 2>&1
make
cd sub
make test
exec 1>&3 2>&4
cat out.json
EOF_114329324912
cd /testbed
: '>>>>> Start Test Output'
bash /tmp/harness-tests.sh
: '>>>>> End Test Output'
cat /tmp/harness-before.log
cd "$repository"
git checkout 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a -- t/test_a.txt t/gone.py
rm -f -- 't/$(touch pwned).py'
