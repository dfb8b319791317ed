#!/bin/sh
# Build the wheels, install them into an empty environment on each Python of 3.11 to 3.13 that is
# here, and run the demo and one bench from them, and the demo from the library alone:
# sh tools/check_wheels.sh ENVIRONMENT-WITH-BUILD
set -eu
cd "$(dirname "$0")/.."
builder=$1/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v pyenv >/dev/null; then # its shims work for the versions that are named
    PYENV_VERSION=$(pyenv versions --bare | grep -E '^3\.1[123]\.[0-9]+$' | paste -sd: -)
    export PYENV_VERSION
fi
for package in theanine theanine-methods theanine-server theanine-adapters theanine-bench; do
    PATH="$PWD/$1/bin:$PATH" "$builder" -m build --wheel --no-isolation --outdir "$work" "packages/$package" >"$work/build.log" 2>&1 ||
        { cat "$work/build.log"; exit 1; }
done
# The locked versions, as constraints: the wheels name ranges.
sed -n 's/^\([a-z][^ \\]*\( ; [^\\]*\)\{0,1\}\) \\$/\1/p' requirements/dev.txt >"$work/constraints.txt"
cat >"$work/dialogues.json" <<'JSON'
[{"set": "test", "utterances": ["I booked a boat to Split.", "Which harbor does the boat leave from?",
  "From Rijeka, at nine.", "My cake did not rise.", "How much baking powder did you use?", "None at all."],
  "segments": [3, 3]}]
JSON
checked=0
for python in python3.11 python3.12 python3.13; do
    "$python" -c 'import ensurepip' 2>/dev/null || { echo "$python: not here, not checked"; continue; }
    "$python" -m venv "$work/$python"
    "$work/$python/bin/python" -m pip install --quiet --disable-pip-version-check setuptools 2>/dev/null
    "$work/$python/bin/python" -m pip install --quiet --disable-pip-version-check --prefer-binary \
        --constraint "$work/constraints.txt" "$work"/*.whl 2>"$work/pip.log" ||
        { cat "$work/pip.log"; exit 1; }
    (
        cd "$work"
        unset PYTHONPATH
        "./$python/bin/theanine" demo >demo.txt 2>&1
        grep -q allergic demo.txt
        "./$python/bin/theanine" bench segmentation dialogues.json >segmentation.txt
        grep -q -i f1 segmentation.txt
        "./$python/bin/theanine" compare --methods theanine,exchange >compare.txt 2>&1
        grep -q exchange compare.txt
        "./$python/bin/theanine" serve --help >serve.txt
        # Each does without those that depend on it, and what is missing is named.
        pip="./$python/bin/python -m pip --disable-pip-version-check"
        $pip uninstall --quiet --yes theanine-bench
        "./$python/bin/theanine" methods exchange >methods.txt
        if "./$python/bin/theanine" compare 2>missing.txt; then exit 1; fi
        grep -q 'pip install theanine-bench' missing.txt
        $pip uninstall --quiet --yes theanine-methods
        "./$python/bin/python" -c "import theanine_adapters.conversation"
        $pip uninstall --quiet --yes theanine-adapters theanine-server
        $pip check --quiet
        "./$python/bin/theanine" demo >demo.txt 2>&1
        grep -q allergic demo.txt
        if "./$python/bin/theanine" methods secom 2>missing.txt; then exit 1; fi
        grep -q "theanine\[methods\]" missing.txt
        if "./$python/bin/theanine" serve 2>missing.txt; then exit 1; fi
        grep -q "theanine\[server\]" missing.txt
        # As on a machine for which there is no onnxruntime: with word vectors.
        "./$python/bin/python" -m pip uninstall --quiet --disable-pip-version-check --yes onnxruntime
        "./$python/bin/theanine" demo >demo.txt 2>&1
        grep -q allergic demo.txt
    )
    echo "$python: demo, bench and service run from the wheels, the demo also without the service"
    checked=$((checked + 1))
done
test "$checked" -gt 0 || { echo "no Python of 3.11 to 3.13 could be checked"; exit 1; }
