/** Prints `N passed, N failed` from a vitest JSON report and the exit code of the start check. */
import { readFileSync } from 'node:fs'

const [report, startCode] = process.argv.slice(2)
const result = JSON.parse(readFileSync(report, 'utf8'))
const started = Number(startCode) === 0 ? 1 : 0
const passed = result.numPassedTests + started
const failed =
  result.numFailedTests + (1 - started) + (result.success || result.numFailedTests > 0 ? 0 : 1)
const skipped = result.numPendingTests + result.numTodoTests
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
