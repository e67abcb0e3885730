#!/bin/bash
set -uxo pipefail
cat > /tmp/harness-setup.sh <<'EOF_114329324912'
#!/bin/bash
git checkout x
EOF_114329324912
cat > /tmp/harness-tests.sh <<'EOF_114329324912'
#!/bin/bash
pytest -rA
EOF_114329324912
{
bash /tmp/harness-setup.sh
} > /tmp/harness-before.log 2>&1
: '>>>>> Start Test Output'
bash /tmp/harness-tests.sh
: '>>>>> End Test Output'
cat /tmp/harness-before.log
