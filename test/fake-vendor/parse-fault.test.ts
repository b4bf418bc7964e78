/** How faults are written, what is refused, and that the documents list them all. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { faultDescriptions } from '../../src/fake-vendor/fault.js'
import { parseFault, parseFaultText } from '../../src/fake-vendor/parse-fault.js'
import { tableRows } from '../support/markdown-table.js'

describe('a fault as text', () => {
  it.each([
    ['scrub=silent', 'scrub', { kind: 'silent' }],
    ['all=slow:2000', 'all', { kind: 'slow', ms: 2_000 }],
    ['all=slow,ms=2000', 'all', { kind: 'slow', ms: 2_000 }],
    ['token=server-error', 'token', { kind: 'server-error' }],
    ['token=server-error:504', 'token', { kind: 'server-error', status: 504 }],
    [
      'internal-dnc=rate-limited:30,times=3,chance=0.5',
      'internal-dnc',
      { kind: 'rate-limited', retryAfterSeconds: 30, times: 3, chance: 0.5 },
    ],
    ['scrub=missing-field:Phone', 'scrub', { kind: 'missing-field', field: 'Phone' }],
    ['scrub=redirect:http://a.b/c', 'scrub', { kind: 'redirect', location: 'http://a.b/c' }],
  ] as const)('%s', (text, target, fault) => {
    expect(parseFaultText(text)).toEqual([target, fault])
  })

  it.each([
    ['scrubs=silent', 'scrubs: unknown target; must be one of scrub, internal-dnc'],
    ['silent', 'silent: unknown target'],
    ['scrub=', "scrub.kind '': must be one of"],
    ['scrub=quiet', "scrub.kind 'quiet': must be one of silent, reset"],
    ['scrub=constructor', "scrub.kind 'constructor': must be one of"],
    ['scrub=slow', 'scrub.ms: is required and must be a whole number from 0 to 600000'],
    ['scrub=slow:soon', "scrub.ms 'soon': is required and must be a whole number"],
    ['scrub=slow:1.5', "scrub.ms '1.5': is required and must be a whole number"],
    ['scrub=server-error:200', "scrub.status '200': must be a whole number from 500 to 504"],
    ['scrub=silent:3', "scrub.3 '3': unknown field; must be one of times, chance"],
    ['scrub=silent,times=0', "scrub.times '0': must be a whole number from 1"],
    ['scrub=silent,chance=2', "scrub.chance '2': must be a number from 0 to 1"],
    ['scrub=silent,often=2', "scrub.often '2': unknown field; must be one of times, chance"],
    ['token=wrapped', "token.kind 'wrapped': works on rows, and a token has none"],
  ])('%s is refused', (text, message) => {
    expect(() => parseFaultText(text)).toThrow(message)
  })
})

describe('a fault as a value', () => {
  it.each([
    [[], "scrub '[]': must be an object with a kind, or null"],
    ['silent', "scrub 'silent': must be an object with a kind, or null"],
    [{}, 'scrub.kind: must be one of'],
    [{ kind: 'slow', ms: '5' }, "scrub.ms '5': is required and must be a whole number"],
    [{ kind: 'redirect', location: 5 }, "scrub.location '5': must be text of 1 to 2000 characters"],
    [{ kind: 'redirect', location: '/a\r\nb: c' }, 'characters, of printable ASCII'],
    [{ kind: 'redirect', location: '/a\u0000' }, 'characters, of printable ASCII'],
    [{ kind: 'redirect', location: '/a\u007f' }, 'characters, of printable ASCII'],
    [{ kind: 'redirect', location: '/→' }, 'characters, of printable ASCII'],
  ])('%j is refused', (value, message) => {
    expect(() => parseFault(value, 'scrub')).toThrow(message)
  })

  it('that is null ends the one there is', () => {
    expect(parseFault(null, 'scrub')).toBeUndefined()
  })
})

describe('docs/fake-vendor.md', () => {
  it('lists every fault as the program knows it', () => {
    const page = join(import.meta.dirname, '../../docs/fake-vendor.md')
    const listed = tableRows(page)
      .filter((row) => row.has('Fault'))
      .map((row) => [row.get('Fault'), row.get('Parameter'), row.get('What happens')])
    const known = Object.entries(faultDescriptions).map(([kind, { parameter, description }]) => {
      const needed = parameter?.required ? ', required' : ''
      return [`\`${kind}\``, parameter ? `\`${parameter.name}\`${needed}` : '', description]
    })
    expect(listed).toEqual(known)
  })
})
