import { guessGo, guessJvm, guessMake, guessRuby, guessRust } from './guess/guess-others.ts';
import { guessNode } from './guess/guess-node.ts';
import { guessPython } from './guess/guess-python.ts';
import type { Guess, RootFiles } from './guess/guess.ts';
import { workflowsOf, type Workflow } from './guess/workflows.ts';

/** Files whose content is used for guessing; for others, such as lock files, only the name matters. */
export const GUESS_FILES = [
  'package.json',
  '.yarnrc.yml',
  '.nvmrc',
  '.node-version',
  'go.mod',
  'rust-toolchain',
  'rust-toolchain.toml',
  'pyproject.toml',
  'requirements.txt',
  'requirements-dev.txt',
  'setup.cfg',
  'tox.ini',
  'Makefile',
  'makefile',
  'GNUmakefile',
  '.gitignore',
];

/**
 * Guesses setup and gates from the files in the root of a repository and from its CI workflows. A Makefile is used only if
 * nothing else yields a gate.
 */
export function guessGates(files: RootFiles, workflows: readonly Workflow[] = []): Required<Guess> {
  const guesses = [guessNode, guessPython, guessRust, guessGo, guessJvm, guessRuby].map((guess) =>
    guess(files, workflows),
  );
  const all = join(guesses);
  const guessed = all.gates.length > 0 ? all : join([all, guessMake(files, workflows)]);
  return confirmed(guessed, workflows);
}

/** Adds the workflows that run the same checks. */
function confirmed(guess: Required<Guess>, workflows: readonly Workflow[]): Required<Guess> {
  const runs = guess.gates.map((gate) => [gate, workflowsOf(gate, workflows)] as const);
  const sources = runs.map(([gate, paths]) => [gate, [...(guess.sources[gate] ?? []), ...paths]]);
  const reasons = workflows.flatMap(({ path }) => {
    const same = runs.filter(([, paths]) => paths.includes(path)).map(([gate]) => gate);
    return same.length === 0 ? [] : [`${path} runs ${same.join(', ')}`];
  });
  return {
    ...guess,
    sources: Object.fromEntries(sources) as Record<string, string[]>,
    reasons: [...guess.reasons, ...reasons],
  };
}

function join(guesses: Guess[]): Required<Guess> {
  return {
    setup: guesses.flatMap(({ setup }) => setup),
    gates: guesses.flatMap(({ gates }) => gates),
    reasons: guesses.flatMap(({ reasons }) => reasons),
    sources: Object.assign({}, ...guesses.map(({ sources }) => sources)) as Record<string, string[]>,
    env: Object.assign({}, ...guesses.map(({ env }) => env)) as Record<string, string>,
    hosts: guesses.flatMap(({ hosts = [] }) => hosts),
    keeps: guesses.flatMap(({ keeps = [] }) => keeps),
  };
}
