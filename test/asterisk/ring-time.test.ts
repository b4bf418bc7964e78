/** How long the shipped recipes let a call ring: 15 seconds or more (16 CFR 310.4(b)(4)(ii), 47 CFR 64.1200(a)(6)). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const minSeconds = 15

/** All lines that are not comments. */
function readLines(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.conf'))
  return names
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => !line.startsWith(';'))
}

const globals = new Map(
  readLines('config/asterisk').flatMap((line) => {
    const [, name = '', value = ''] = /^(CALLGATE_\w+)\s*=\s*(\S*)\s*$/.exec(line) ?? []
    return name === '' ? [] : [[name, value] as const]
  }),
)

/** The second argument of each `Dial()`; empty if it rings without an end. */
function listDialTimes(folder: string): readonly string[] {
  return readLines(folder)
    .flatMap((line) => /\bDial\(.*/.exec(line)?.[0] ?? [])
    .map((dial) =>
      dial.replace(/\$\{GLOBAL\((\w+)\)\}/g, (_, name: string) => globals.get(name) ?? ''),
    )
    .map((dial) => /^Dial\([^,]*?(?:,([^,)]*)|\)$)/.exec(dial)?.[1] ?? '')
}

it.each(['config/asterisk', 'config/vicidial'])(
  'calls of %s ring for 15 seconds or more',
  (folder) => {
    const times = listDialTimes(folder)
    expect(times.length).toBeGreaterThan(0)
    for (const time of times.filter((one) => one !== '')) {
      expect(Number(time)).toBeGreaterThanOrEqual(minSeconds)
    }
  },
)

it('reads the time of a trunk from the globals', () => {
  expect(listDialTimes('config/asterisk')).toContain(globals.get('CALLGATE_DIAL_SECONDS'))
})
