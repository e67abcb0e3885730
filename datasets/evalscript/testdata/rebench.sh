#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git config --global --add safe.directory /testbed
export A=1
{
pip install -e .
} > /tmp/harness-before.log 2>&1
git checkout 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a -- t/test_a.txt t/gone.py
rm -f -- 't/$(touch pwned).py'
git apply -v - <<'EOF_2369bdc20a3baf89'
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
: '>>>>> Start Test Output'
pytest -rA 't/$(touch pwned).py'
: '>>>>> End Test Output'
git checkout 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a -- t/test_a.txt t/gone.py
rm -f -- 't/$(touch pwned).py'
cat /tmp/harness-before.log
