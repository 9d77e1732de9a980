# attnlab completions fish
function __attnlab_choices
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for choice in (command $words[1] completions --for $words[2..] "$typed" 2>/dev/null)
        switch $choice
            case FILE
                __fish_complete_path "$typed"
            case DIR
                __fish_complete_directories "$typed"
            case '*'
                printf '%s\n' $choice
        end
    end
end
complete -c attnlab -f -a '(__attnlab_choices)'
