import type { Define } from '../cli.ts';
import { Argument } from 'commander';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from '../completion/completion-scripts.ts';

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
