import { commandFor, type LockedTests } from '../../../core/review/tests-first.ts';
import { agentAnswering, type Attempt } from '../open-attempt.ts';

/** Its artifacts are in the folder of the attempt. */
const FOLDER = 'tests';

/** The attempt as its first agent sees it, which writes the tests; undefined if no tests are wanted first. */
export function asTestsAttempt(attempt: Attempt): Attempt | undefined {
  if (attempt.config.tests.first === 'off') return undefined;
  const { journal, worker, config, agent } = attempt;
  const { gatewayToken } = agent;
  return {
    ...attempt,
    task: 'tests',
    agent: agentAnswering('tests', { config, gatewayToken }),
    worker: { ...worker, store: inFolder(worker.store, FOLDER) },
    journal: { ...journal, phase: (phase, action) => journal.phase(phase === 'agent' ? 'tests' : phase, action) },
  };
}

/** The store with the artifacts of an agent in a folder of the attempt. */
export function inFolder(store: Store, folder: string): Store {
  const below = (name: string) => `${folder}/${name}`;
  return {
    ...store,
    artifactPath: (location, name) => store.artifactPath(location, below(name)),
    writeArtifact: (location, name, data, how) => store.writeArtifact(location, below(name), data, how),
    placeArtifact: (location, name, write) => store.placeArtifact(location, below(name), write),
    openArtifact: (location, name, mayWrite) => store.openArtifact(location, below(name), mayWrite),
    writePatch: async (location, patch) => {
      await store.writeArtifact(location, below('diff.patch'), patch);
    },
  };
}

type Store = Attempt['worker']['store'];

/** The attempt with the locked tests as its first gate. */
export function withTestsGate(attempt: Attempt, locked: LockedTests | undefined): Attempt {
  if (locked === undefined) return attempt;
  const { config } = attempt;
  return { ...attempt, config: { ...config, gates: [commandFor(locked), ...(config.gates ?? [])] } };
}
