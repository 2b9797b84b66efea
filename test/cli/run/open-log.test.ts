import { expect, it } from 'vitest';
import { describeLogged } from '../../../src/cli/run/open-log.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';

const cause = new Error('connect ECONNREFUSED 10.0.0.1:2376');

it.each<[string, unknown, Record<string, unknown> | undefined]>([
  [
    'says its cause once, without stacks',
    new HaloError('DOCKER_UNAVAILABLE', `It does not answer (${cause.message}).`, { hint: 'Start it.', cause }),
    { code: 'DOCKER_UNAVAILABLE', message: `It does not answer (${cause.message}).`, hint: 'Start it.' },
  ],
  [
    'names a cause that its message does not contain',
    new HaloError('DISK_FAILED', 'It cannot be written.', { cause }),
    { code: 'DISK_FAILED', message: 'It cannot be written.', cause: cause.message },
  ],
  ['keeps its stack if it is a bug', new HaloError('INTERNAL', 'A bug.'), undefined],
  ['keeps its stack if it is of another kind', cause, undefined],
])('an error in the log of a worker %s', (_what, error, logged) => {
  expect(describeLogged(error)).toEqual(logged && { type: 'HaloError', ...logged });
});
