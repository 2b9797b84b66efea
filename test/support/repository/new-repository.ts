import { removeAfterTests } from '../temp-dir.ts';
import { makeRepository, type TestRepository } from './repository.ts';

/** A new repository with these files, removed after the tests of the file. `name` is that of its folder. */
export function newRepository(files: Record<string, string> = {}, name?: string): TestRepository {
  const repository = makeRepository(files, name);
  removeAfterTests(() => repository.remove());
  return repository;
}
