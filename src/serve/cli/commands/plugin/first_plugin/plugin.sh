# A plugin: reads one JSON message per line and answers each call with one. Standard output is for messages only.
# Commands with parameters need something that reads JSON: `jq`, or another language.

# Answers the call with the response $1.
answer() {
    printf '{"sender":{"role":"plugin"},"receiver":{"role":"cerebrum"},"thrd_id":"%s",' "$id"
    printf '"content_type":"command","content":{"command":"%s","response":%s}}\n' "$command" "$1"
}

# Tells that the call has failed, because of $1.
fail() {
    printf '{"sender":{"role":"system"},"receiver":{"role":"cerebrum"},"thrd_id":"%s",' "$id"
    printf '"content_type":"<class '"'dict'"'>","content":{"error":"%s","detail":""}}\n' "$1"
}

while IFS= read -r line; do
    case $line in
    *'"content_type":"command"'*) ;;
    *'"event":"exit"'*) exit ;;
    *) continue ;;
    esac
    id=${line##*'"thrd_id":"'}
    id=${id%%'"'*}
    command=${line#*'"content":{"command":"'}
    command=${command%%'"'*}
    case $command in
    today) answer "{\"date\":\"$(date +%Y-%m-%d)\"}" ;;
    *) fail "there is no command $command" ;;
    esac
done
