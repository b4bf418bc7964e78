import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadPermitKey } from '../../../src/asterisk/permit-key.js'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-key-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const noChance = () => {
  throw new Error('chance is not needed here')
}

describe('a permit key of the settings', () => {
  const given = (content: string) => {
    const file = join(folder, 'given')
    writeFileSync(file, content)
    return loadPermitKey({ file, dataDir: join(folder, 'data'), randomBytes: noChance })
  }
  const key = 'correct-horse-battery-staple-0123456789'

  const readable: readonly (readonly [string, string])[] = [
    ['alone', key],
    ['with a line end', `${key}\n`],
    ['with the line end of Windows', `${key}\r\n`],
    ['with more lines', `${key}\n# made in May\n`],
    ['with blanks round it', `  ${key} \n`],
  ]
  for (const [how, content] of readable) {
    it(`is the first line of its file, ${how}`, () => {
      expect(given(content)).toBe(key)
    })
  }

  it('makes nothing in the data folder', () => {
    given(key)
    expect(readdirSync(folder)).toEqual(['given'])
  })

  const short = 's3cret-of-31-characters-not-more'.slice(0, 31)
  for (const content of ['', '\n', short, `${short}\n${key}`, `${' '.repeat(40)}\n`]) {
    it(`is refused when it is ${JSON.stringify(content.slice(0, 12))}, ${content.length} long`, () => {
      const refused = () => given(content)
      expect(refused).toThrow(
        `${join(folder, 'given')}: asterisk.permitKeyFile must have at least 32 characters`,
      )
      expect(refused).not.toThrow(/s3cret|correct/)
    })
  }

  it('is refused when there is no such file, or it is a folder', () => {
    for (const [file, code] of [
      ['none', 'ENOENT'],
      ['', 'EISDIR'],
    ] as const) {
      const place = { file: join(folder, file), dataDir: folder, randomBytes: noChance }
      expect(() => loadPermitKey(place)).toThrow(`asterisk.permitKeyFile cannot be read (${code})`)
    }
  })
})

describe('a permit key of our own', () => {
  const dataDir = () => join(folder, 'data')
  const load = () => loadPermitKey({ dataDir: dataDir(), randomBytes })

  it('is made once, for its owner alone, and leaves no draft behind', () => {
    const key = load()
    expect(key).toMatch(/^[\w-]{43}$/)
    expect(statSync(join(dataDir(), 'permit-key')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(dataDir(), 'permit-key'), 'utf8')).toBe(`${key}\n`)
    expect(readdirSync(dataDir())).toEqual(['permit-key'])
    expect(loadPermitKey({ dataDir: dataDir(), randomBytes: noChance })).toBe(key)
  })

  it('is that of the other when another process makes one in between', () => {
    let other: string | undefined
    const key = loadPermitKey({
      dataDir: dataDir(),
      randomBytes: (size) => {
        other ??= load()
        return randomBytes(size)
      },
    })
    expect(key).toBe(other)
    expect(readdirSync(dataDir())).toEqual(['permit-key'])
  })

  it('is the same for processes that start at once', async () => {
    const built = join(import.meta.dirname, '../../../dist/asterisk/permit-key.js')
    const program = `
      import { randomBytes } from 'node:crypto'
      import { loadPermitKey } from ${JSON.stringify(`file://${built}`)}
      console.log(loadPermitKey({ dataDir: ${JSON.stringify(dataDir())}, randomBytes }))`
    const run = () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    const ends = await Promise.all([run(), run(), run(), run()])
    expect(new Set(ends.map(({ stdout }) => stdout))).toEqual(new Set([`${load()}\n`]))
  })

  it('is refused, never replaced, when its file is damaged', () => {
    mkdirSync(dataDir())
    writeFileSync(join(dataDir(), 'permit-key'), 'short\n')
    expect(load).toThrow(/permit-key: the permit key .* must have at least 32 characters/)
    expect(readFileSync(join(dataDir(), 'permit-key'), 'utf8')).toBe('short\n')
  })

  it('is refused when the folder cannot hold it', () => {
    writeFileSync(join(folder, 'data'), 'a file')
    expect(load).toThrow(`${dataDir()}: exists and is not a folder`)
  })
})
