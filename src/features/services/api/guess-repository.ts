import { join } from 'node:path';
import type { GuessedSettings } from '../../../config/output/guess/guess.ts';
import { isInside, readRegularText } from '../../../lib/fs.ts';
import { MAX_YAML_BYTES } from '../config/compose/read-yaml.ts';
import { DATABASE_FILES } from '../config/guess/database-clients.ts';
import { settingsPaths } from '../config/guess/django.ts';
import { MIGRATION_FILES } from '../config/guess/migrations.ts';
import { COMPOSE_FILES, GITLAB_FILE, guessServices } from '../config/guess/guess-services.ts';

const MANIFESTS = [
  'package.json',
  'requirements.txt',
  'requirements-dev.txt',
  'pyproject.toml',
  'setup.cfg',
  'Pipfile',
  'Gemfile',
  'go.mod',
  'manage.py',
];
const MAX_MANIFEST_BYTES = 1024 * 1024;

/**
 * The services that the files of a repository name; `workflows`: the texts of its GitHub workflows, by path. Files that are
 * too long, special or elsewhere are ignored.
 */
export async function guessServicesOf(root: string, workflows: ReadonlyMap<string, string>): Promise<GuessedSettings> {
  const files = new Map<string, string>();
  const read = async (path: string): Promise<void> => {
    const limit = MANIFESTS.includes(path) ? MAX_MANIFEST_BYTES : MAX_YAML_BYTES;
    const file = join(root, path);
    const text = (await isInside(root, file).catch(() => false))
      ? await readRegularText(file, limit).catch(() => undefined)
      : undefined;
    if (text !== undefined) files.set(path, text);
  };
  for (const path of [...COMPOSE_FILES, GITLAB_FILE, ...MANIFESTS, ...DATABASE_FILES, ...MIGRATION_FILES])
    await read(path);
  for (const path of settingsPaths(files.get('manage.py') ?? '')) await read(path);
  const { tables, compose, ...guess } = guessServices({ files, workflows });
  return {
    ...guess,
    settings: [
      ...(compose === undefined
        ? []
        : [{ name: 'services', value: compose.path, what: compose.names.join(', '), why: `${compose.path} has them` }]),
      ...tables.map(({ name, values, why, isOff, maybe }) => ({
        name: `services.${name}`,
        value: values,
        what: `${name}: ${String(values.image)}`,
        why,
        ...(isOff && { isHint: isOff }),
        ...(maybe && { maybe: { value: maybe.values, why: maybe.why } }),
      })),
    ],
  };
}
