import type { RegistryName } from '../../core/network.ts';
import { mirrorUrl, openRegistries, type RegistryRoute } from '../../gateway/registry/registries.ts';
import { shellQuote } from '../../lib/shell-quote.ts';
import { AGENT_HOME } from '../workspace/sandbox-paths.ts';

/** What makes the usual clients find the mirrors on a port of a sandbox's loopback interface. */
export interface ClientSettings {
  env: Record<string, string>;
  /** Shell lines that write settings which no variable can hold; run before the command. */
  script: string;
}

/** For commands that reach nothing: the usual clients give up at the first name that is not found. */
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
    CLIENTS[registry.name](mirrorUrl(registry, port), port),
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
      // A lockfile may name the registry that its author used; what it names is in the mirror, too.
      npm_config_replace_registry_host: 'always',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
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
  // Without root nothing can be installed, but downloaded and unpacked; apt's own folders cannot be written.
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

/** A failure is left to the client to tell. */
function writeUnlessThere(path: string, content: string, folders: string[] = []): string {
  const make = [`"$(dirname ${path})"`, ...folders].join(' ');
  return `[ -e ${path} ] || { mkdir -p ${make} && printf %s ${shellQuote(content)} > ${path}; } 2>/dev/null || :\n`;
}
