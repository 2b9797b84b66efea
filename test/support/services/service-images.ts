import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureImage } from '../../../src/sandbox/docker/image/ensure-image.ts';

/** The databases of the tests, as repositories would name them if a registry of this name had the official images. */
export const SERVICE_IMAGES = {
  postgres: 'halo.test/postgres:15',
  mariadb: 'halo.test/mariadb:10.11',
  redis: 'halo.test/redis:7',
} as const;

export type TestService = keyof typeof SERVICE_IMAGES;

const PACKAGES: Record<TestService, string[]> = {
  postgres: ['locales', 'libgssapi-krb5-2', 'libicu72', 'libldap-2.5-0', 'libpq5', 'libreadline8', 'libxslt1.1'],
  mariadb: ['mariadb-server-core', 'mariadb-client'],
  // Those of halo's own server image.
  redis: ['ca-certificates', 'git', 'redis-server'],
};

/**
 * Builds the image of a database from Debian's packages, unless it is current, and returns its name: no image can be pulled
 * where the tests run. It has the volume, user, variables, entrypoint and folders of the official one. HALO_TEST_ENTRYPOINTS
 * names a folder with other entrypoints, such as those that the official images publish: `<service>/docker-entrypoint.sh`.
 */
export async function ensureServiceImage(service: TestService): Promise<string> {
  const image = SERVICE_IMAGES[service];
  const files = ['Dockerfile', 'docker-entrypoint.sh'].map((name) => [name, pathOf(service, name)] as const);
  const recipe = createHash('sha256')
    .update(JSON.stringify([PACKAGES[service], ...files.map(([, path]) => readFileSync(path, 'utf8'))]))
    .digest('hex');
  const fill = (context: string) => {
    for (const [name, path] of files) copyFileSync(path, join(context, name));
    chmodSync(join(context, 'docker-entrypoint.sh'), 0o755);
    return Promise.resolve();
  };
  await ensureImage({ image, recipe, debian: PACKAGES[service], fill }, { log: () => undefined });
  return image;
}

function pathOf(service: TestService, name: string): string {
  const other = join(process.env.HALO_TEST_ENTRYPOINTS ?? '/nonexistent', service, name);
  return name !== 'Dockerfile' && existsSync(other) ? other : join(import.meta.dirname, service, name);
}
