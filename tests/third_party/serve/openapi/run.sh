#!/usr/bin/env bash
# `/openapi.json` of a server that runs, and whether it answers as that says, whatever is sent: openapi-spec-validator,
# and schemathesis, once without tokens (everybody is admin) and once with the token of a user.
#     [SECONDS_OF_SCHEMATHESIS=50] tests/third_party/serve/openapi/run.sh PLAYHOUSE CACHE
set -euo pipefail
. "$(dirname "$0")/../common.sh"
seconds=${SECONDS_OF_SCHEMATHESIS:-50}
bin="$cache/venv/bin"
export PYTHONPATH="$scratch" SCHEMATHESIS_HOOKS=hooks

# Asks for everything, for half of the time.
everything() {
    export DESK_URL=$url
    "$bin/schemathesis" run "$url/openapi.json" "$@" --phases coverage,fuzzing --seed 7 --max-time $((seconds / 2)) \
        --request-timeout 20 --continue-on-failure --no-color --suppress-health-check all --warnings off \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
}

# After all of it the server runs, and no thread of it has panicked.
is_well() {
    curl -fsS "$url/readyz" && ! grep -i panick said
}

serve desk.md --tools desk.tools.json --model embedded
curl -fsS "$url/openapi.json" >openapi.json
told "openapi-spec-validator" "$bin/openapi-spec-validator" openapi.json
told "schemathesis, without tokens" everything
told "the server is well" is_well

kill "$server"
wait "$server" || true
rm -rf address "$XDG_STATE_HOME"
printf "\n[serve]\nvisitors = true\n" >>playhouse.toml
token=$("$playhouse" serve token new ida --role user 2>/dev/null)
operator=$("$playhouse" serve token new otto --role operator 2>/dev/null)
export DESK_TOKEN="Bearer $token" DESK_OPERATOR="Bearer $operator"
serve desk.md --tools desk.tools.json --model embedded
told "schemathesis, with the token of a user" everything --header "Authorization: $DESK_TOKEN"
told "the server is well" is_well
conclude
