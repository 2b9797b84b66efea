import { BlockList, isIPv4 } from 'node:net';

/** Ranges outside the public internet (IANA's special-purpose registries), with a name for each. */
const RANGES: readonly [word: string, ...subnets: string[]][] = [
  ['unspecified', '0.0.0.0/8', '::/128'],
  ['loopback', '127.0.0.0/8', '::1/128'],
  ['private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  ['link-local, where clouds keep their metadata', '169.254.0.0/16', 'fe80::/10'],
  ['the server of a cloud for its machines', '168.63.129.16/32'],
  ['shared by a carrier', '100.64.0.0/10'],
  ['multicast', '224.0.0.0/4', 'ff00::/8'],
  ['reserved', '192.0.0.0/24', '198.18.0.0/15', '240.0.0.0/4', '100::/64', '2001::/23', '2001:db8::/32'],
  ['for documents', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '3fff::/20'],
  ['of no server', '192.88.99.0/24', '5f00::/16'],
  // IPv6 forms that embed an IPv4 address, which a router may translate back.
  ['an IPv4 address in disguise', '::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16'],
];

/** BlockList treats ::ffff:1.2.3.4 as 1.2.3.4, so this form is matched as text. */
const MAPPED = /^::ffff:/i;

const LISTS = RANGES.map(([word, ...subnets]) => ({ word, list: listOf(subnets) }));

/** Names the special-purpose range of an IP address; undefined for a public address. */
export function describeNonPublic(address: string): string | undefined {
  if (address.includes('%')) return 'bound to an interface';
  const plain = address.includes(':') ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  if (MAPPED.test(plain)) return 'an IPv4 address in disguise';
  const family = isIPv4(plain) ? 'ipv4' : 'ipv6';
  return LISTS.find(({ list }) => list.check(plain, family))?.word;
}

function listOf(subnets: string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', bits] = subnet.split('/');
    list.addSubnet(net, Number(bits), isIPv4(net) ? 'ipv4' : 'ipv6');
  }
  return list;
}
