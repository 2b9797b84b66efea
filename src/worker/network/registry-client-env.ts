import type { RegistryName } from '../../core/journal/egress-events.ts';
import { registryProxyUrl, openRegistries, type RegistryRoute } from '../../gateway/registry/registries.ts';
import { shellQuote } from '../../lib/text.ts';
import { AGENT_HOME } from '../../sandbox/sandbox.ts';

/** Settings that point package managers to the registries on a port of a sandbox's loopback interface. */
interface ClientSettings {
  env: Record<string, string>;
  /** Shell lines, run before the command, that write the settings for which no variable exists. */
  script: string;
}

/** For commands without network: package managers stop at the first name that cannot be resolved. */
export const WITHOUT_RETRIES: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '0',
  YARN_HTTP_RETRY: '0',
  PIP_RETRIES: '0',
  UV_HTTP_RETRIES: '0',
  POETRY_REQUESTS_MAX_RETRIES: '0',
  CARGO_NET_RETRY: '0',
  BUNDLE_RETRY: '0',
};

const APT_CONFIG = `${AGENT_HOME}/.halo-apt.conf`;

export function clientSettings(routes: readonly RegistryRoute[], port: number): ClientSettings {
  const settings = [...openRegistries(routes).values()].map((registry) =>
    CLIENTS[registry.name](registryProxyUrl(registry, port), port),
  );
  return {
    env: Object.assign({}, ...settings.map(({ env }) => env)) as Record<string, string>,
    script: settings.map(({ script }) => script).join(''),
  };
}

const CLIENTS: Record<RegistryName, (url: string, port: number) => ClientSettings> = {
  npm: (url) => ({
    env: {
      npm_config_registry: url,
      // The home folder is too small for the archives of a large project.
      npm_config_cache: '/workspace/node_modules/.npm-cache',
      // A lockfile may name the registry that its author used; the proxy has the same packages.
      npm_config_replace_registry_host: 'always',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      // Reports an unreachable registry within seconds; by default, npm waits 10 s, then 60 s, between tries.
      npm_config_fetch_retry_mintimeout: '1000',
      npm_config_fetch_retry_factor: '3',
      COREPACK_NPM_REGISTRY: url.replace(/\/$/, ''),
      YARN_REGISTRY: url,
      YARN_NPM_REGISTRY_SERVER: url.replace(/\/$/, ''),
      YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    },
    script: '',
  }),
  pypi: (url) => ({
    env: { PIP_INDEX_URL: url, PIP_DISABLE_PIP_VERSION_CHECK: '1', UV_DEFAULT_INDEX: url },
    script: '',
  }),
  // Sources can only be replaced in a file.
  crates: (url) => ({
    env: {},
    script: writeUnlessThere(
      '"${CARGO_HOME:-$HOME/.cargo}"/config.toml',
      `[source.crates-io]\nreplace-with = "halo"\n\n[source.halo]\nregistry = "sparse+${url}"\n`,
    ),
  }),
  go: (url) => ({ env: { GOPROXY: url.replace(/\/$/, '') }, script: '' }),
  // Without root, packages can be downloaded and unpacked, but not installed; apt's own folders are not writable.
  debian: (_url, port) => ({
    env: { APT_CONFIG },
    script: writeUnlessThere(
      APT_CONFIG,
      [
        `Acquire::http::Proxy "http://127.0.0.1:${port}";`,
        'Acquire::Languages "none";',
        'Acquire::GzipIndexes "true";',
        `Dir::State "${AGENT_HOME}/.halo-apt/state";`,
        'Dir::State::status "/var/lib/dpkg/status";',
        `Dir::Cache "${AGENT_HOME}/.halo-apt/cache";`,
        '',
      ].join('\n'),
      ['state/lists/partial', 'cache/archives/partial'].map((path) => `${AGENT_HOME}/.halo-apt/${path}`),
    ),
  }),
};

/** If writing fails, the package manager reports it. */
function writeUnlessThere(path: string, content: string, folders: string[] = []): string {
  const make = [`"$(dirname ${path})"`, ...folders].join(' ');
  return `[ -e ${path} ] || { mkdir -p ${make} && printf %s ${shellQuote(content)} > ${path}; } 2>/dev/null || :\n`;
}
