import { operation, type OperationContext } from './operation.ts';
import {
  type BatchRequest,
  batchEntrySchema,
  EXAMPLE_PRD,
  MAX_RUNS_PER_SUBMIT,
  type SubmitRequest,
  placeSchema,
  prdSchema,
  submitOptions,
  submittedSchema,
  type SubmitOptions,
} from './schemas.ts';
import { RIGHTS, rightsOf, type Right } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import { TOKEN_HOLDER } from '../submit/user-name.ts';

export const submitOperations = {
  submit: operation({
    method: 'POST',
    path: '/v1/runs',
    access: 'submit',
    submits: true,
    inspects: true,
    summary: 'Creates a run of a PRD for each repository. Either all runs are queued, or none.',
    input: (z) =>
      z.strictObject({
        prd: prdSchema(z),
        repos: z.array(placeSchema(z)).min(1).max(MAX_RUNS_PER_SUBMIT).describe('Paths on the server, or URLs.'),
        ...submitOptions(z),
      }),
    example: {
      prd: { path: 'prd.json', content: EXAMPLE_PRD },
      repos: ['https://git.example.com/shop.git'],
      set: ['agent=codex'],
      allowDirty: false,
    },
    output: { kind: 'json', schema: submittedSchema, created: true },
    async run(context, { prd, repos, ...options }: SubmitRequest) {
      const { submitRuns } = await import('../submit/submit-runs.ts');
      return { runs: await submitRuns(context, { ...(await requestedOptions(context, options)), prd, repos }) };
    },
  }),
  submitBatch: operation({
    method: 'POST',
    path: '/v1/batches',
    access: 'submit',
    submits: true,
    inspects: true,
    summary: 'Creates the runs of a batch, each with its own PRD, in the order in which they run.',
    input: (z) =>
      z.strictObject({ members: z.array(batchEntrySchema(z)).min(1).max(MAX_RUNS_PER_SUBMIT), ...submitOptions(z) }),
    example: {
      members: [
        {
          name: 'shop',
          repo: 'https://git.example.com/shop.git',
          prd: { path: 'shop.json', content: EXAMPLE_PRD },
          deps: [],
        },
      ],
      set: [],
      allowDirty: false,
    },
    output: { kind: 'json', schema: submittedSchema, created: true },
    async run(context, { members, ...options }: BatchRequest) {
      const { submitBatch } = await import('../submit/submit-runs.ts');
      return { runs: await submitBatch(context, { ...(await requestedOptions(context, options)), members }) };
    },
  }),
};

type Sender = Pick<OperationContext, 'caller' | 'undecided'>;

/**
 * The options of a submit; for a request over the network, with the restrictions of such requests. Throws
 * CONFIG_INVALID, ACCESS_DENIED.
 */
export async function requestedOptions(
  { remote, ...sender }: Pick<OperationContext, 'remote'> & Sender,
  options: SubmitOptions,
): Promise<SubmitOptions> {
  if (!remote) return options;
  const { assertRemoteOptions } = await import('../../config/trust/trust.ts');
  assertRemoteOptions(options.set);
  const rights = rightsOfCaller(sender);
  if (options.withoutGates === true && !rights.includes('land'))
    throw new HaloError('ACCESS_DENIED', 'Access denied: a run without gates needs the right to land.', {
      hint: 'Set gates, or ask an operator to submit it.',
    });
  const { caller } = sender;
  const { profile, ...rest } = options;
  // The keys of one user say nothing about the runs of another.
  const key = caller === undefined || rest.key === undefined ? rest.key : `${caller.name} ${rest.key}`;
  return {
    ...rest,
    ...defined({ key }),
    ...{ profile, user: caller?.name ?? rest.user ?? TOKEN_HOLDER, remote: true, rights },
  };
}

/** What a request may cause: what the role of its user includes, and nothing for an agent that may not decide. */
export function rightsOfCaller({ caller, undecided }: Sender): Right[] {
  if (undecided === true) return [];
  return caller === undefined ? [...RIGHTS] : rightsOf(caller.role);
}
