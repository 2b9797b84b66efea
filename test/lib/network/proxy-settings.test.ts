import { describe, expect, it } from 'vitest';
import { proxySecrets, readProxies } from '../../../src/config/environment/host.ts';
import { findProxy } from '../../../src/lib/network/connections.ts';

describe('findProxy', () => {
  const env = { HTTPS_PROXY: 'http://proxy.example:3128', HTTP_PROXY: 'plain.example' };
  const via = (target: string, direct = '', protocol: 'http:' | 'https:' = 'https:') => {
    const at = target.lastIndexOf(':');
    const endpoint = { host: target.slice(0, at), port: Number(target.slice(at + 1)) };
    return findProxy(readProxies({ ...env, NO_PROXY: direct }), protocol, endpoint)?.host;
  };

  it('takes the proxy of the protocol', () => {
    expect(via('a.example:443')).toBe('proxy.example:3128');
    expect(via('a.example:80', '', 'http:')).toBe('plain.example');
    expect(findProxy(readProxies({}), 'https:', { host: 'a.example', port: 443 })).toBeUndefined();
  });

  it.each([
    ['a.example:443', '*'],
    ['a.example:443', 'b.example, a.example'],
    ['x.a.example:443', 'a.example'],
    ['x.a.example:443', '.a.example'],
    ['x.a.example:443', '*.A.example'],
    ['a.example:8443', 'a.example:8443'],
    ['10.1.2.3:443', '10.1.2.3'],
    ['10.1.2.3:443', '10.0.0.0/8'],
    ['fd00::1:443', '[fd00::1]'],
    ['fd00::1:443', 'fd00::/8'],
    ['127.0.0.1:443', ''],
    ['127.9.9.9:443', ''],
    ['localhost:443', ''],
    ['::1:443', ''],
  ])('reaches %s directly with NO_PROXY=%s', (target, direct) => {
    expect(via(target, direct)).toBeUndefined();
  });

  it.each([
    ['xa.example:443', 'a.example'],
    ['a.example.evil:443', 'a.example'],
    ['a.example:443', 'a.example:8443'],
    ['11.1.2.3:443', '10.0.0.0/8'],
    ['10.1.2.3:443', '10.0.0.0/99'],
    ['a.example:443', ', ,.'],
    ['fd00::1:443', '10.0.0.0/8'],
  ])('reaches %s through the proxy with NO_PROXY=%s', (target, direct) => {
    expect(via(target, direct)).toBe('proxy.example:3128');
  });

  it('prefers names in lower case, and accepts no other protocol', () => {
    expect(readProxies({ https_proxy: 'http://low', HTTPS_PROXY: 'http://high' }).https?.host).toBe('low');
    expect(() => readProxies({ HTTPS_PROXY: 'socks5://user:secret@proxy' })).toThrow(/^HTTPS_PROXY is not a URL of the form/); // prettier-ignore
  });

  it('names the secrets of proxies', () => {
    expect(proxySecrets({ HTTPS_PROXY: 'http://me:p%40ss@proxy:1' })).toEqual(['p@ss', Buffer.from('me:p@ss').toString('base64')]); // prettier-ignore
  });

  it.each(['50%off', '50%ab', '%', '%zz'])(
    'reads the password %s, which is not percent-encoded, as it is written',
    (password) => {
      const env = { HTTPS_PROXY: `http://me:${password}@proxy:1` };
      const pair = Buffer.from(`me:${password}`).toString('base64');
      expect(proxySecrets(env)).toEqual([password, pair]);
      const { https } = readProxies(env);
      expect([https?.host, decodeURIComponent(https?.password ?? '')]).toEqual(['proxy:1', password]);
    },
  );
});
