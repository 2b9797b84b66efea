/** How long a test waits for a condition on a machine that is many times slower than usual, and how often it looks, in ms. */
export const PATIENCE = { timeout: 100_000, interval: 100 };
