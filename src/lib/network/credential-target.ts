/**
 * Whether a credential that was configured for an address may be sent to a URL: scheme, host and port are those of the
 * address, and no other machine can read it. Every place that adds a credential to a request asks this.
 */
export function mayReceiveCredential(url: string | URL, configured: string | URL): boolean {
  const [target, own] = [new URL(url), new URL(configured)];
  return isConfidential(target) && target.origin === own.origin;
}

/** Whether no other machine can read or change what is transferred: with encryption, or on this machine. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
