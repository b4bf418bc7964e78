/** Prints how many sentences of each section hold, and why those that were not tried were not. */
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { sections } from './sections.js'

interface Counts {
  passed: number
  failed: number
  skipped: number
}

export class SectionReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()])
    const broken = modules.filter((module) => module.errors().length > 0)
    const lines = [
      '',
      'Sentences of the specification:',
      ...Object.values(sections).flatMap((title) => lineOf(title, cases)),
      lineOfAll(cases),
      ...broken.map((module) => `not run at all: ${module.moduleId}`),
      ...reasons(cases),
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
  }
}

function sectionOf({ parent }: TestCase): string {
  return 'name' in parent ? parent.name : ''
}

function countsOf(cases: readonly TestCase[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  for (const one of cases) {
    const { state } = one.result()
    counts[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1
  }
  return counts
}

function lineOf(title: string, cases: readonly TestCase[]): readonly string[] {
  const own = cases.filter((one) => sectionOf(one) === title)
  if (own.length === 0) return []
  const { passed, failed, skipped } = countsOf(own)
  const mark = failed > 0 ? '✗' : skipped === own.length ? '-' : '✓'
  return [`  ${mark} ${title}: ${passed} passed, ${failed} failed, ${skipped} skipped`]
}

function lineOfAll(cases: readonly TestCase[]): string {
  const { passed, failed, skipped } = countsOf(cases)
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

/** Skipped cases by their reason. */
function reasons(cases: readonly TestCase[]): readonly string[] {
  const byReason = new Map<string, string[]>()
  for (const one of cases) {
    const result = one.result()
    if (result.state !== 'skipped') continue
    const reason = result.note ?? 'not selected'
    byReason.set(reason, [...(byReason.get(reason) ?? []), `${sectionOf(one)}: ${one.name}`])
  }
  return [...byReason].flatMap(([reason, names]) => [
    '',
    `Skipped, ${reason}:`,
    ...names.map((name) => `  ${name}`),
  ])
}
