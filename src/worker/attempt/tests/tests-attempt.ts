import { commandFor, type LockedTests } from '../../../core/review/tests-first.ts';
import type { Attempt } from '../open-attempt.ts';

/** Its artifacts are in the folder of the attempt. */
const FOLDER = 'tests';

/** The attempt as its first agent sees it, which writes the tests; undefined if no tests are wanted first. */
export function asTestsAttempt(attempt: Attempt): Attempt | undefined {
  if (attempt.config.tests.first === 'off') return undefined;
  const { journal } = attempt;
  const { store } = attempt.worker;
  const inFolder = (name: string) => `${FOLDER}/${name}`;
  return {
    ...attempt,
    task: 'tests',
    worker: {
      ...attempt.worker,
      store: {
        ...store,
        artifactPath: (place, name) => store.artifactPath(place, inFolder(name)),
        writeArtifact: (place, name, data, how) => store.writeArtifact(place, inFolder(name), data, how),
        writePatch: async (place, patch) => {
          await store.writeArtifact(place, inFolder('diff.patch'), patch);
        },
      },
    },
    journal: { ...journal, phase: (phase, action) => journal.phase(phase === 'agent' ? 'tests' : phase, action) },
  };
}

/** The attempt with the locked tests as its first gate. */
export function withTestsGate(attempt: Attempt, locked: LockedTests | undefined): Attempt {
  if (locked === undefined) return attempt;
  const { config } = attempt;
  return { ...attempt, config: { ...config, gates: [commandFor(locked), ...(config.gates ?? [])] } };
}
