# Shared by `start` and `stop`.
#     processes   the file of started processes, one per line: process id, when it began, name
#     state       the folder of that file, of the logs, and of the server's data
#     is_ours ID BEGAN   whether the process with that id is still the one that was started
state=${XDG_STATE_HOME:-$HOME/.local/state}/playhouse/cluster
processes=$state/processes

# In ticks since the machine booted; nothing if there is no such process.
began() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

is_ours() {
    [ -n "$2" ] && [ "$(began "$1")" = "$2" ]
}
