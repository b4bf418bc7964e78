/** The client as it is published: alone in its package, and with types that forget no case. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runChild } from '../../../scripts/children.mjs'

const root = join(import.meta.dirname, '../../..')
let folder: string

/** A project with callgate, as packed, and without anything that it depends on. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-client-'))
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const { code, out, err } = await runChild('npm', pack, { cwd: root, timeout: 100_000 })
  expect(code, err).toBe(0)
  const [{ filename }]: [{ filename: string }] = JSON.parse(out)
  const target = join(folder, 'node_modules/callgate')
  mkdirSync(target, { recursive: true })
  const unpack = ['-xzf', join(folder, filename), '-C', target, '--strip-components=1']
  expect((await runChild('tar', unpack)).code).toBe(0)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(folder, { recursive: true }))

async function runModule(text: string) {
  const options = { cwd: folder, timeout: 60_000 }
  return await runChild(process.execPath, ['--input-type=module', '-e', text], options)
}

describe('the package', () => {
  test.each(['callgate', 'callgate/client'])(
    '%s is the client, and starts nothing',
    async (name) => {
      const { code, out, err } = await runModule(
        `console.log(Object.keys(await import('${name}')).join())`,
      )
      expect({ code, out, err }).toEqual({
        code: 0,
        out: 'CallgateError,DialRefused,createClient\n',
        err: '',
      })
    },
  )

  test('exports nothing else but its description', async () => {
    for (const inside of ['dist/main.js', 'dist/client/decision.js', 'dist/client/client.js']) {
      const { err } = await runModule(`await import('callgate/${inside}')`)
      expect(err, inside).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
    }
    const { out } = await runModule(
      `import own from 'callgate/package.json' with { type: 'json' }; console.log(own.bin.callgate)`,
    )
    expect(out).toBe('dist/main.js\n')
  })
})

const head = `import { createClient, type Decision, type Allowed } from 'callgate/client'
const client = createClient({ url: 'http://127.0.0.1:8480', key: 'k' })
const result: Decision = await client.decide({ number: '2125550106', callKind: 'ai' })
const place = (number: string): string => number
`

const wholeSwitch = `function handle(one: Decision): string {
  switch (one.kind) {
    case 'allowed': return one.number
    case 'blocked': return one.nextAllowedAt ?? one.reason
    case 'undecided': return one.cause
  }
}
`

/** Programs that a compiler must take, or refuse with this code. */
const programs: Readonly<Record<string, readonly [text: string, error?: string]>> = {
  'by-may-dial': ['if (result.mayDial) await result.dial(place)\nelse result.message'],
  'by-kind': [wholeSwitch],
  'without-asking': ['await result.dial(place)', 'TS2339'],
  'the-wrong-way-round': ['if (!result.mayDial) await result.dial(place)', 'TS2339'],
  'number-of-a-block': ["if (result.kind === 'blocked') place(result.number)", 'TS2339'],
  'forgets-undecided': [wholeSwitch.replace(/.*'undecided'.*\n/, ''), 'TS2366'],
  'forgets-blocked': [wholeSwitch.replace(/.*'blocked'.*\n/, ''), 'TS2366'],
  'unknown-case': ["if (result.kind === 'allow') place('')", 'TS2367'],
  'made-of-parts': [
    'if (result.mayDial) { const { ...parts } = result; const made: Allowed = { ...parts, dial: result.dial } }',
    'TS2741',
  ],
  'made-by-hand': ['new Allowed()', 'TS1361'],
  'unknown-call-kind': ["await client.decide({ number: '1', callKind: 'robot' })", 'TS2322'],
  'misspelled-field': [
    "await client.decide({ number: '1', callKind: 'ai', projld: 'x' })",
    'TS2353',
  ],
}

/** What the example of the documentation takes from the dialer. */
const ofDialer = `declare const process: { env: Record<string, string | undefined> }
declare function placeCall(number: string): Promise<string>
declare function scheduleAt(instant: string): void
declare function retryLater(cause: string): void
`

test('code that forgets a case does not compile, and that of the documentation does', async () => {
  const page = readFileSync(join(root, 'docs/clients.md'), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(page)?.[1] ?? ''
  expect(example).toContain('createClient')
  writeFileSync(join(folder, 'documentation.ts'), example + ofDialer)
  for (const [name, [text]] of Object.entries(programs)) {
    writeFileSync(join(folder, `${name}.ts`), `${head}${text}\nexport {}\n`)
  }
  const options = {
    strict: true,
    noEmit: true,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: 'NodeNext',
    noImplicitReturns: true,
    types: [],
  }
  const files = [...Object.keys(programs), 'documentation'].map((name) => `${name}.ts`)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { out } = await runChild(process.execPath, [tsc, '--pretty', 'false', '-p', folder], {
    cwd: folder,
    timeout: 60_000,
  })
  const found = [...out.matchAll(/^([\w/.-]+)\.d?\.?ts\(.*error (TS\d+)/gm)]
  const errors = Object.fromEntries(found.map(([, file, code]) => [file, code]))
  const expected = Object.entries(programs).flatMap(([name, [, error]]) =>
    error === undefined ? [] : [[name, error]],
  )
  expect(errors, out).toEqual(Object.fromEntries(expected))
})
