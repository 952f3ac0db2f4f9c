# What `start` and `stop` have in common.
#     processes   the file with what was started, a line each: process id, when it began, name
#     state       the folder of that file, of logs, and of what the server keeps
#     is_ours ID BEGAN   whether the process of that id is still the one that was started
state=${XDG_STATE_HOME:-$HOME/.local/state}/playhouse/cluster
processes=$state/processes

# In ticks since the machine began; nothing where there is no such process.
began() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

is_ours() {
    [ -n "$2" ] && [ "$(began "$1")" = "$2" ]
}
