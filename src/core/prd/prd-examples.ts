/** Small PRDs, for agents and people who write one; tests read both. */
export const JSON_EXAMPLE =
  '{"project":"shop","userStories":[{"id":"US-001","title":"Sum up the cart","description":"total(cart) returns the sum of its prices.","acceptanceCriteria":["total([]) is 0"],"dependsOn":[],"passes":false}]}';
export const MARKDOWN_EXAMPLE =
  '# Shop\n\n## US-001: Sum up the cart\n\ntotal(cart) returns the sum of its prices.\n\n- [ ] total([]) is 0\n';
