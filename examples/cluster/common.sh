# What `start` and `stop` have in common.
#     processes   the file with what was started, a line each: process id, when it began, name
#     state       the folder of that file, of logs, and of what the server keeps
#     is_ours ID BEGAN   whether the process of that id is still the one that was started
state=${XDG_STATE_HOME:-$HOME/.local/state}/playhouse/cluster
processes=$state/processes

began() {
    ps -o lstart= -p "$1" 2>/dev/null | tr -s ' ' '_'
}

is_ours() {
    [ -n "$2" ] && [ "$(began "$1")" = "$2" ]
}
