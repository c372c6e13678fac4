// A reporter of vitest: keeps the errors that belong to no test, such as an uncaught rejection. They fail the run,
// and the report of the tests does not have them.
import { writeFileSync } from 'node:fs';

/** Where they are written to, as a list of lines. */
export const STRAYS_FILE = 'COUNTERSIGN_STRAYS_FILE';

export default class Strays {
  #lines = [];

  onProcessTimeout() {
    this.#lines.push('vitest did not end by itself');
    this.#write();
  }

  onTestRunEnd(_modules, errors) {
    this.#lines.push(...errors.map(lineOf));
    this.#write();
  }

  #write() {
    const file = process.env[STRAYS_FILE];
    if (file) writeFileSync(file, JSON.stringify(this.#lines));
  }
}

function lineOf(error) {
  const { type = 'Error', VITEST_TEST_PATH: path, VITEST_TEST_NAME: test } = error;
  const where = [path ?? 'no test file', ...(test ? [test] : [])].join(' > ');
  return `${type} in ${where}: ${error.stack ?? error.message ?? JSON.stringify(error)}`;
}
