import { describe, expect, it } from 'vitest';
import { formatEndpoint, parseAllowList, parseEndpoint } from '../../../src/gateway/egress/host-port.ts';

describe('a network target', () => {
  it.each([
    ['packages.example.com:443', 'packages.example.com:443'],
    ['Packages.Example.COM:443', 'packages.example.com:443'],
    ['localhost:4873', 'localhost:4873'],
    ['127.0.0.1:80', '127.0.0.1:80'],
    ['[::1]:80', '[::1]:80'],
    ['[0:0::0001]:80', '[::1]:80'],
    ['xn--bcher-kva.example:65535', 'xn--bcher-kva.example:65535'],
  ])('%s is parsed as %s', (text, canonical) => {
    const target = parseEndpoint(text);
    expect(target && formatEndpoint(target)).toBe(canonical);
  });

  it.each([
    '',
    'example.com',
    'example.com:',
    ':443',
    'example.com:0',
    'example.com:0443',
    'example.com:65536',
    'example.com:443 ',
    'example.com:443/x',
    'example.com:443\n',
    'example.com.:443',
    '.example.com:443',
    'a..b:443',
    '-a.example:443',
    'a_b.example:443',
    'a%00.example.com:443',
    'a\0.example.com:443',
    'user@example.com:443',
    'http://example.com:443',
    'bücher.example:443',
    '*.example.com:443',
    `${'a'.repeat(64)}.example:443`,
    `${'a.'.repeat(130)}example:443`,
    '0177.0.0.1:80',
    '0x7f.1:80',
    '0x7f000001:80',
    '2130706433:80',
    '127.1:80',
    '127.0.0.1.:80',
    '127.0.0.01:80',
    '::1:80',
    '[::1%lo]:80',
    '[::1:80',
    '[127.0.0.1]:80',
    '[]:80',
  ])('refuses %j', (text) => expect(parseEndpoint(text)).toBeUndefined());

  it('is named in the error if an allow list contains an invalid one', () => {
    expect(() => parseAllowList(['ok.example:1', ''])).toThrow(
      '[network] allow contains "", which is not a host:port.',
    );
  });
});
