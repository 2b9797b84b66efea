import { guessGo, guessJvm, guessMake, guessRuby, guessRust } from './output/guess/guess-others.ts';
import { guessNode } from './output/guess/guess-node.ts';
import { guessPython } from './output/guess/guess-python.ts';
import type { Guess, RootFiles } from './guess/repository.ts';

/** Files whose text a guess depends on; of others, such as lock files, only the name counts. */
export const GUESS_FILES = [
  'package.json',
  'pyproject.toml',
  'requirements.txt',
  'requirements-dev.txt',
  'setup.cfg',
  'Makefile',
  'makefile',
  'GNUmakefile',
  '.gitignore',
];

/** Guesses setup and gates from the files in the root of a repository. A Makefile counts only when nothing else does. */
export function guessGates(files: RootFiles): Required<Guess> {
  const guesses = [guessNode, guessPython, guessRust, guessGo, guessJvm, guessRuby].map((guess) => guess(files));
  const all = join(guesses);
  return all.gates.length > 0 ? all : join([all, guessMake(files)]);
}

function join(guesses: Guess[]): Required<Guess> {
  return {
    setup: guesses.flatMap(({ setup }) => setup),
    gates: guesses.flatMap(({ gates }) => gates),
    reasons: guesses.flatMap(({ reasons }) => reasons),
    env: Object.assign({}, ...guesses.map(({ env }) => env)) as Record<string, string>,
    hosts: guesses.flatMap(({ hosts = [] }) => hosts),
    keeps: guesses.flatMap(({ keeps = [] }) => keeps),
  };
}
