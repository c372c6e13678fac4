// Counts the tests in the JSON report of vitest, and names those that failed.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const MOST_NAMED = 20;
const NO_REPORT = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };

/**
 * Counts the tests of a run. A test file that cannot be loaded fails without a failed test, and so do an error that belongs
 * to no test and a run that finds no tests: each counts as one.
 */
export function countTests(code, file, stray = []) {
  const report = readOr(file, NO_REPORT);
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = report.numFailedTests + broken.length + stray.length;
  return {
    passed: report.numPassedTests,
    failed: code !== 0 ? Math.max(failed, 1) : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: [...namesOf(report), ...stray.slice(0, MOST_NAMED).map(inShort)],
  };
}

// Names the failed tests with a short reason, because the full output may be far above or cut off.
function namesOf(report) {
  const named = report.testResults.flatMap((file) => {
    const path = relative(process.cwd(), file.name);
    const tests = file.assertionResults.filter((test) => test.status === 'failed');
    if (tests.length === 0) return file.status === 'failed' ? [`${path}: ${inShort(file.message)}`] : [];
    return tests.map((test) => `${path} > ${test.fullName}: ${inShort(test.failureMessages.join(' '))}`);
  });
  const more = named.length - MOST_NAMED;
  return more > 0 ? [...named.slice(0, MOST_NAMED), `and ${more} more`] : named;
}

function inShort(message) {
  const line = stripVTControlCharacters(message ?? '').replace(/\s+/g, ' ');
  return line.length > 500 ? `${line.slice(0, 500)}…` : line;
}

/** Reads JSON. Without a report, vitest stopped before it could write one, and its exit code says so. */
export function readOr(file, otherwise) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return otherwise;
  }
}
