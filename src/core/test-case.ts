/** One test of a report. The report is the word of code that the story may have changed: evidence, no proof. */
export interface TestCase {
  /** With the names of the suites around it; not unique. */
  name: string;
  /** It did not run: skipped, to do, disabled. */
  skipped: boolean;
  /** How many things it checked, where the report says so. */
  asserts?: number | undefined;
}
