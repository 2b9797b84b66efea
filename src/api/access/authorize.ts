import { grantOf, mayUseRepository, type User } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { withoutCredentials } from '../../git/repository/repo-url.ts';
import { pickRunId } from '../../store/run/run-list.ts';
import type { Store } from '../../store/store.ts';
import type { AnyOperation } from '../operations/operation.ts';

/** What an operation is called with, as far as access depends on it. */
interface AuthorizedInput {
  runId?: string;
  user?: string | undefined;
}

/**
 * Checks whether a user may run an operation with this input. Which runs and repositories exist for them is decided by
 * `visibleStore` and `assertMayUse`. Throws ACCESS_DENIED, and RUN_NOT_FOUND.
 */
export async function authorize(
  { name, access, everywhere }: Pick<AnyOperation, 'name' | 'access' | 'everywhere'>,
  input: AuthorizedInput,
  { user, store }: { user: User; store: Pick<Store, 'find' | 'readState'> },
): Promise<void> {
  const grant = grantOf(user.role, access);
  if (grant === 'none') throw denied(user, `the role ${user.role} does not include ${name}`);
  if (everywhere === true && user.repositories !== undefined)
    throw denied(user, `${name} concerns all repositories, and ${user.name} may use only some`);
  if (input.user !== undefined && input.user !== user.name)
    throw denied(user, `requests of ${user.name} cannot be in the name of ${input.user}`);
  if (grant === 'all') return;
  const state = input.runId === undefined ? undefined : await store.readState(await store.find(input.runId));
  if (state?.user !== user.name) throw denied(user, `the role ${user.role} includes ${name} only for own runs`);
}

/** Throws ACCESS_DENIED unless the user may submit runs of a repository, by its path or address. */
export function assertMayUse(user: User, source: string): void {
  if (mayUseRepository(user, source)) return;
  throw denied(user, `${withoutCredentials(source)} is not one of the repositories of ${user.name}`);
}

/** The store as a user with a list of repositories sees it: runs of other repositories do not exist. */
export function visibleStore(store: Store, user: User): Store {
  if (user.repositories === undefined) return store;
  const isVisible = (source: string) => mayUseRepository(user, source);
  const onlyVisible = async <T extends { runId: string }>(runs: T[]): Promise<T[]> => {
    const facts = await store.runFacts();
    const visible = await Promise.all(
      runs.map(async ({ runId }) => {
        const source = facts.get(runId)?.repo;
        if (source !== undefined) return isVisible(source);
        return store.readState(runId).then(
          ({ repo }) => isVisible(repo.source),
          () => false,
        );
      }),
    );
    return runs.filter((_run, index) => visible[index]);
  };
  return {
    ...store,
    find: async (part) => {
      // A run that the user cannot see must neither be named nor make a part of an id ambiguous.
      const wanted = part.toLowerCase();
      const matching = (await store.runIds()).filter((runId) => runId.includes(wanted));
      const visible = await onlyVisible(matching.map((runId) => ({ runId })));
      return pickRunId(
        visible.map(({ runId }) => runId),
        part,
      );
    },
    list: async (query) => ({ ...(await store.list({ ...query, isVisible })), unreadable: [] }),
    runIds: async () =>
      (await onlyVisible((await store.runIds()).map((runId) => ({ runId })))).map(({ runId }) => runId),
    openRuns: async () => onlyVisible(await store.openRuns()),
    recentRuns: async (since) => onlyVisible(await store.recentRuns(since)),
  };
}

function denied(user: User, why: string): HaloError {
  return new HaloError('ACCESS_DENIED', `Access denied: ${why}.`, {
    hint: `An administrator can change role and repositories, for example with \`halo user set ${user.name} --role operator\`.`,
  });
}
