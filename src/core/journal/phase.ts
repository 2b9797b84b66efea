/** What is known of a phase. */
interface PhaseRow {
  /** Its color, which those have in common that are steps of halo or of tests. */
  color: 'agent' | 'gates' | 'land' | 'own' | 'refactor' | 'review' | 'setup' | 'tests';
  /** Commands of setup or gates run in it. Otherwise its output is that of an agent, if it has any. */
  commands?: true;
  /** An agent has a task of its own in it, with a cassette and a folder of artifacts that have the name of the phase. */
  task?: true;
}

/** The steps of an attempt, in order. */
export const PHASES = {
  /** Creates the workspace with a checkout of the base commit. */
  prepare: { color: 'own' },
  /** Runs the setup commands. */
  setup: { color: 'setup', commands: true },
  /** Lets the agent write the tests of the story, if `tests.first` asks for them. */
  tests: { color: 'tests', task: true },
  /** Runs these tests on the base commit, where they must fail. */
  red: { color: 'tests' },
  /** Runs the agent. */
  agent: { color: 'agent' },
  /** Copies the agent's tree out of the sandbox. */
  export: { color: 'own' },
  /** Checks the tree on the host and builds the candidate commit. */
  import: { color: 'own' },
  /** Runs the gates on a clean checkout of the candidate. */
  gates: { color: 'gates', commands: true },
  /** Lets the agent refactor the candidate, and runs the gates on the result, if `tests.refactor` asks for it. */
  refactor: { color: 'refactor', task: true },
  /** Lets another agent review the change that passed, if `review.when` asks for it. */
  review: { color: 'review', task: true },
  /** Moves the run's branch to the candidate. */
  land: { color: 'land' },
} as const satisfies Record<string, PhaseRow>;

export type Phase = keyof typeof PHASES;

/** What an agent does other than implement the story. */
export type AgentTask = { [P in Phase]: (typeof PHASES)[P] extends { task: true } ? P : never }[Phase];

export const AGENT_TASKS = (Object.keys(PHASES) as Phase[]).filter(
  (phase): phase is AgentTask => 'task' in PHASES[phase],
);

/** The folders of an attempt in which agents leave their files, in the order in which they work. */
export const AGENT_FOLDERS = (Object.keys(PHASES) as Phase[]).flatMap((phase) =>
  phase === 'agent' ? '' : 'task' in PHASES[phase] ? `${phase}/` : [],
);
