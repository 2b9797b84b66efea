import type { Usage } from './agent.ts';

/** The price of a model, in USD per million tokens. */
export interface Price {
  input: number;
  /** Input read from the provider's cache. */
  cached: number;
  /** Input written to the provider's cache. */
  cacheWrite: number;
  output: number;
  /** The price of all tokens of a request with more than `above` input tokens. */
  long?: { above: number } & Omit<Price, 'long'>;
}

/** The price of a request, given its input tokens. */
export function priceFor(price: Price, inputTokens: number): Omit<Price, 'long'> {
  return price.long !== undefined && inputTokens > price.long.above ? price.long : price;
}

/** The cost of tokens in millionths of a USD, rounded up: prices per million tokens are millionths per token. */
export function costOf(usage: Usage, price: Price): number {
  const { inputTokens, cachedTokens, cacheWriteTokens = 0, outputTokens } = usage;
  const { input, cached, cacheWrite, output } = priceFor(price, inputTokens);
  const fresh = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens);
  return roundUp(fresh * input + cachedTokens * cached + cacheWriteTokens * cacheWrite + outputTokens * output);
}

/** The highest price per token, whether or not the provider's cache is used. */
export function highestPrice({ input, cached, cacheWrite }: Price): number {
  return Math.max(input, cached, cacheWrite);
}

/** Removes floating-point noise before rounding up. */
function roundUp(amount: number): number {
  return Math.ceil(Number(amount.toFixed(6)));
}
