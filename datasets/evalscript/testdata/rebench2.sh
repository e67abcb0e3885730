#!/bin/bash
set -uxo pipefail
cd /calc
git config --global --add safe.directory /calc
export _JAVA_OPTIONS=-Djava.net.preferIPv6Addresses=false
git add -u
if ! git apply -v --3way --recount --ignore-space-change --whitespace=nowarn - <<'EOF_2369bdc20a3baf89'
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
then exit 1; fi
cat > /tmp/harness-tests.sh <<'EOF_114329324912'
make check
make more
EOF_114329324912
: '>>>>> Start Test Output'
bash -e /tmp/harness-tests.sh
: '>>>>> End Test Output'
