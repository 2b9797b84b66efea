import type { Finding } from '../../../api/doctor/doctor-finding.ts';
import { listEndpoints } from './endpoints.ts';

/** Reports endpoints of notifications that do not receive what they should. Nothing without endpoints. Throws CONFIG_INVALID. */
export async function checkEndpoints(home: string): Promise<Finding[]> {
  const endpoints = await listEndpoints(home);
  const failing = endpoints.filter(({ givenUp, why }) => givenUp > 0 || why !== undefined);
  if (endpoints.length === 0) return [];
  if (failing.length === 0) {
    const names = endpoints.map(({ name }) => name).join(', ');
    return [{ name: 'notify', ok: 'ok', says: `${names} have received everything that was sent` }];
  }
  return failing.map(({ name, type, waiting, givenUp, why }) => ({
    name: 'notify',
    ok: 'warn',
    says: `${name} has not received ${waiting + givenUp} notifications${why === undefined ? '' : `: ${why}`}`,
    fix:
      type === 'removed'
        ? `add [notify.${name}] to config.toml again, or remove the folder notifications/${name} of HALO_HOME`
        : `fix [notify.${name}] in config.toml, and run \`halo hooks retry ${name}\``,
  }));
}
