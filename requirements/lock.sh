#!/bin/sh
# Write requirements/*.txt from pyproject.toml: universal, hashed, naming no place to fetch from.
set -eu
cd "$(dirname "$0")/.."
if ! command -v uv >/dev/null; then
    sh requirements/venv.sh build/uv
    build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
    PATH="$PWD/build/uv/bin:$PATH"
fi
mkdir -p build
export UV_CUSTOM_COMPILE_COMMAND="make lock"
compile() {
    uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --upgrade "$@"
}
# Torch, and what needs it or holds others back (fastembed keeps to an older hub client), stay out,
# and so do the frameworks of the integrations.
frameworks='anthropic claude-agent-sdk google-adk langchain langgraph llama-index mcp openai-agents pydantic-ai pydantic-ai-harness'
ours='theanine theanine-adapters theanine-methods theanine-server'
# shellcheck disable=SC2086
printf '%s\n' $ours bert-score fastembed mauve-text mcp sentence-transformers torch transformers >build/apart.txt
core=packages/theanine/pyproject.toml
methods=packages/theanine-methods/pyproject.toml
server=packages/theanine-server/pyproject.toml
adapters=packages/theanine-adapters/pyproject.toml
bench=packages/theanine-bench/pyproject.toml
# Its packages come from this checkout; llm and llama-cpp-python see pyproject.toml, small-model.
# shellcheck disable=SC2086
printf '%s\n' $ours llm llama-cpp-python >build/ours.txt
compile --all-extras --group dev --excludes build/apart.txt --output-file requirements/dev.txt $core $methods $server $bench
# Also the service, for the page. Held to the same versions, so that one environment can take both.
compile --group build --excludes build/ours.txt --constraint requirements/dev.txt \
    --output-file requirements/base.txt $core $server
# What the image of the service holds: see deploy/Containerfile.
compile --extra mcp --extra models --extra otel --extra postgres --group build --excludes build/ours.txt \
    --constraint requirements/dev.txt --output-file requirements/server.txt $core $server
# What those extras add to dev.txt, less torch and its CUDA parts: see requirements/extras.sh.
# (What dev.txt has on some platforms alone, such as tzdata, may be in both.)
sed -n 's/^\([a-z].*==[^\\]*\).*/\1/p' requirements/dev.txt | grep -v -e '^huggingface-hub==' -e ' ; ' >build/held.txt
sh requirements/extras.sh --torch >>build/held.txt
compile --extra neural --extra fastembed --extra sentence-transformers --group tiny-models --group small-model \
    --excludes build/ours.txt --constraint build/held.txt --output-file build/extras.txt $core $methods $bench
awk 'NR == FNR { sub(/==.*/, ""); held[$1]; next }
    /^[a-z]/ { split($1, of, "=="); keep = !(of[1] in held) && of[1] !~ /^(cuda-|nvidia-|triton$)/ }
    keep || /^#/' build/held.txt build/extras.txt >requirements/extras.txt
# What the integrations add to both. Google ADK keeps to an older OpenTelemetry, which suits all.
sed -n 's/^\([a-z].*==[^\\]*\).*/\1/p' requirements/extras.txt >>build/held.txt
grep -v '^opentelemetry-' build/held.txt >build/held-integrations.txt
# shellcheck disable=SC2086
printf '%s\n' $ours >build/ours.txt
# shellcheck disable=SC2046
compile $(printf ' --extra %s' $frameworks) --group integrations --excludes build/ours.txt \
    --constraint build/held-integrations.txt --output-file build/integrations.txt $core $server $adapters
awk 'NR == FNR { sub(/==.*/, ""); held[$1]; next }
    /^[a-z]/ { split($1, of, "=="); keep = !(of[1] in held) }
    keep || /^#/' build/held-integrations.txt build/integrations.txt >requirements/integrations.txt
