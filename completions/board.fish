# Completion of board for fish. It asks the program; nothing of its answer is ever evaluated.
function __board_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command board __complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current" ''
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c board -e
complete -c board -f -a '(__board_complete)'
