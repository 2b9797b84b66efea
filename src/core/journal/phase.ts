/** The steps of an attempt, in order. */
export type Phase =
  /** Creates the workspace with a checkout of the base commit. */
  | 'prepare'
  /** Runs the setup commands. */
  | 'setup'
  /** Lets the agent write the tests of the story, if `tests.first` asks for them. */
  | 'tests'
  /** Runs these tests on the base commit, where they must fail. */
  | 'red'
  /** Runs the agent. */
  | 'agent'
  /** Copies the agent's tree out of the sandbox. */
  | 'export'
  /** Checks the tree on the host and builds the candidate commit. */
  | 'import'
  /** Runs the gates on a clean checkout of the candidate. */
  | 'gates'
  /** Lets the agent refactor the candidate, and runs the gates on the result, if `tests.refactor` asks for it. */
  | 'refactor'
  /** Lets another agent review the change that passed, if `review.when` asks for it. */
  | 'review'
  /** Moves the run's branch to the candidate. */
  | 'land';
