import { guessGo, guessJvm, guessMake, guessRust } from './guess/other.ts';
import { guessNode } from './guess/node.ts';
import { guessPython } from './guess/python.ts';
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
];

/** Guesses setup and gates from the files in the root of a repository. A Makefile counts only when nothing else does. */
export function guessGates(files: RootFiles): Guess {
  const guesses = [guessNode, guessPython, guessRust, guessGo, guessJvm].map((guess) => guess(files));
  const all = join(guesses);
  return all.gates.length > 0 ? all : join([all, guessMake(files)]);
}

function join(guesses: Guess[]): Guess {
  return {
    setup: guesses.flatMap(({ setup }) => setup),
    gates: guesses.flatMap(({ gates }) => gates),
    reasons: guesses.flatMap(({ reasons }) => reasons),
  };
}
