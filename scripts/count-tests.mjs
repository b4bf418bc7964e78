/**
 * Prints what failed, also what then passed at a later try, and, last, `N passed, N failed`, of the JSON reports of vitest and of other checks,
 * given as `name=exit code`. A run that failed without a failed test, or wrote no report, counts as one
 * failure.
 */
import { existsSync, readFileSync } from 'node:fs'

function countReport(path) {
  if (!existsSync(path)) return countCheck(`report ${path}`, false)
  const report = JSON.parse(readFileSync(path, 'utf8'))
  for (const file of report.testResults) printFailures(file)
  const failed = report.numFailedTests
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && !report.success ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

function printFailures({ name, status, message, assertionResults }) {
  for (const test of assertionResults) {
    const [first] = test.failureMessages
    if (first === undefined) continue
    const what = test.status === 'failed' ? 'failed' : 'passed at a later try'
    console.log(`${what}: ${name}: ${test.fullName}: ${first.split('\n')[0]}`)
  }
  const isTold = assertionResults.some((test) => test.status === 'failed')
  if (status === 'failed' && !isTold) console.log(`failed: ${name}: ${message}`)
}

function countCheck(name, isPassed) {
  if (!isPassed) console.log(`failed: ${name}`)
  return { passed: Number(isPassed), failed: Number(!isPassed), skipped: 0 }
}

const all = process.argv.slice(2).map((word) => {
  const [name, exitCode] = word.split('=')
  return exitCode === undefined ? countReport(word) : countCheck(name, exitCode === '0')
})
const sum = (name) => all.reduce((total, counts) => total + counts[name], 0)
const skipped = sum('skipped')
console.log(
  `${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
)
