import { describe, expect, it } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';

const networkOf = (text: string) =>
  resolveConfig({ cwd: '/', home: parseConfigFile('/somewhere/config.toml', text) }).config.network;

describe('credentials of registries', () => {
  it('are tables by address, and scopes of npm have URLs', () => {
    const network = networkOf(`
[network.scopes]
"@acme" = "https://npm.pkg.github.com/"
[network.credentials."npm.pkg.github.com"]
token_env = "GITHUB_TOKEN"
[network.credentials."pypi.example.com:8443/simple"]
user = "bot"
token_file = "/etc/halo/pypi-token"
[network.credentials."crates.example.com"]
scheme = "token"
token_command = "pass show crates"
`);
    expect(network.scopes).toEqual({ '@acme': 'https://npm.pkg.github.com' });
    expect(network.credentials).toEqual({
      'npm.pkg.github.com': { tokenEnv: 'GITHUB_TOKEN' },
      'pypi.example.com:8443/simple': { user: 'bot', tokenFile: '/etc/halo/pypi-token' },
      'crates.example.com': { scheme: 'token', tokenCommand: 'pass show crates' },
    });
  });

  it.each([
    ['[network.credentials.npm.example.com]\ntoken_env="T"', 'contains a table: a name with dots must be quoted'],
    ['[network.credentials."https://x.example"]\ntoken_env="T"', 'is not an address like "npm.example.com"'],
    ['[network.credentials."x.example"]', 'must have one of token_env, token_file and token_command'],
    ['[network.credentials."x.example"]\ntoken_env="T"\ntoken_file="/t"', 'must have one of'],
    ['[network.credentials."x.example"]\ntoken_file="t"', 'must be an absolute path'],
    ['[network.credentials."x.example"]\ntoken_env="T"\nscheme="basic"', 'must have a user for the scheme "basic"'],
    ['[network.credentials."x.example"]\ntoken_env="T"\nscheme="token"\nuser="a"', 'must have a user for the scheme'],
    ['[network.credentials."x.example"]\ntoken="ghp_secret"', 'Unrecognized key: "token"'],
    ['[network.scopes]\nacme = "https://x.example"', 'is not a scope like "@acme"'],
    ['[network.scopes]\n"@acme" = "https://u:p@x.example"', 'must be an http or https URL without user'],
  ])('are refused with the reason: %s', (text, reason) => {
    expect(() => networkOf(text)).toThrow(reason);
    expect(() => networkOf(text)).not.toThrow('ghp_secret');
  });
});
