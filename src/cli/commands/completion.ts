import type { Define } from '../cli.ts';
import { Argument } from 'commander';

export const define: Define = (command, cli) => {
  command
    .description(
      'Prints a completion script for your shell: commands, options and their values, run ids, stories and PRDs.',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: Shell) => cli.write(COMPLETION_SCRIPTS[shell]));
};

const HELP = `
Examples:
  eval "$(halo completion bash)"                    in ~/.bashrc
  eval "$(halo completion zsh)"                     in ~/.zshrc
  halo completion fish | source                     in ~/.config/fish/config.fish`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/**
 * The scripts only pass words on: the hidden `halo __complete` finds the completions, one `word<tab>meaning` per line.
 */
export const COMPLETION_SCRIPTS: Record<Shell, string> = {
  bash: String.raw`# halo completion for bash: eval "$(halo completion bash)"
_halo() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${'$'}{line%%$'\t'*}")
  done < <(halo __complete "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o bashdefault -F _halo halo
`,
  zsh: String.raw`#compdef halo
# halo completion for zsh: eval "$(halo completion zsh)"
_halo() {
  local -a found
  found=(${'$'}{(f)"$(halo __complete "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${'$'}{#found} )); then
    found=("${'$'}{(@)found/$'\t'/:}")
    _describe halo found
  else
    _files
  fi
}
compdef _halo halo
`,
  fish: String.raw`# halo completion for fish: halo completion fish | source
function __halo_complete
  set -l words (commandline -opc)
  set -l found (halo __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c halo -f -a '(__halo_complete)'
`,
};
