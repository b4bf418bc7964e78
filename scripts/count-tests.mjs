/**
 * Prints the tests that failed and, last, `N passed, N failed`, from the exit code of the start check and
 * the JSON reports of vitest. A run that failed without a failed test, or wrote no report, counts as one
 * failure.
 */
import { existsSync, readFileSync } from 'node:fs'

const [startCode, ...reports] = process.argv.slice(2)

const noReport = { passed: 0, failed: 1, skipped: 0 }

function countsOf(report) {
  if (!existsSync(report)) {
    console.log(`failed: a tier wrote no report ${report}`)
    return noReport
  }
  const result = JSON.parse(readFileSync(report, 'utf8'))
  for (const file of result.testResults) printFailures(file)
  const failed = result.numFailedTests
  return {
    passed: result.numPassedTests,
    failed: failed === 0 && !result.success ? 1 : failed,
    skipped: result.numPendingTests + result.numTodoTests,
  }
}

function printFailures({ name, status, message, assertionResults }) {
  const failures = assertionResults.filter((test) => test.status === 'failed')
  for (const { fullName, failureMessages } of failures)
    console.log(`failed: ${name}: ${fullName}: ${failureMessages[0]?.split('\n')[0]}`)
  if (status === 'failed' && failures.length === 0) console.log(`failed: ${name}: ${message}`)
}

const started = Number(startCode) === 0 ? 1 : 0
const all = [{ passed: started, failed: 1 - started, skipped: 0 }, ...reports.map(countsOf)]
const sum = (name) => all.reduce((total, counts) => total + counts[name], 0)
const skipped = sum('skipped')
console.log(
  `${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
)
