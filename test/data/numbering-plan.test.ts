import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  importNumbering,
  importOcnClasses,
} from '../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan } from '../../src/data/numbering/numbering-plan.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { cnacRows, cnacText, nanpaRows, nanpaText } from './sample-feeds.js'
import { useTempFolder } from './temp-folder.js'
import { yearStart } from './zone-clocks.js'

const temp = useTempFolder()
const clock = fixedClock(yearStart)

function plan(unknownPrefix: 'area-code' | 'strict' = 'area-code') {
  return openNumberingPlan({ folder: temp.path, unknownPrefix })
}

const unknown = { status: 'unknown-prefix', areaCodeInUse: true }
const dead = { status: 'unknown-prefix', areaCodeInUse: false }

describe('without an import, by area code', () => {
  const table: [number: string, what: string, expected: object][] = [
    ['2122002345', 'a possible exchange', { status: 'ok', lineClass: 'unknown', locality: '' }],
    ['2122112345', 'an N11 exchange', unknown],
    ['2125550123', 'an exchange kept for fiction and directory', unknown],
    ['2129502345', 'carrier access', unknown],
    ['2129582345', 'plant test', unknown],
    ['2129592345', 'plant test', unknown],
    ['2127002345', 'exchange 700', unknown],
    ['2129762345', 'pay-per-call', unknown],
    ['2121232345', 'an exchange that starts with 1', unknown],
    ['2120232345', 'an exchange that starts with 0', unknown],
    ['4163102345', 'the province-wide service of Canada', unknown],
    ['2123102345', 'an ordinary exchange of the US', { status: 'ok' }],
    ['1232342345', 'an area code that starts with 1', dead],
    ['0232342345', 'an area code that starts with 0', dead],
    ['2112342345', 'an N11 area code', dead],
    ['2992342345', 'an area code kept for expansion', dead],
    ['3722342345', 'an area code kept for expansion', dead],
    ['2732342345', 'an area code planned for 2027', dead],
    ['8002342345', 'toll-free', { status: 'toll-free' }],
    ['8892342345', 'toll-free, reserved', { status: 'toll-free' }],
    ['8852342345', 'reserved, but not named toll-free', dead],
    ['5002342345', 'a personal number', unknown],
    ['6002342345', 'a Canadian service', unknown],
    ['9002342345', 'premium rate', unknown],
    ['8762342345', 'Jamaica', unknown],
    ['2422342345', 'the Bahamas', unknown],
  ]
  it.each(table)('%s: %s', (number, _, expected) => {
    expect(plan().lookup(toPhoneNumber(number))).toMatchObject(expected)
  })

  it.each([
    [
      '2422342345',
      { code: 'area-code-of-country', params: { areaCode: '242', country: 'the Bahamas' } },
    ],
    ['9002342345', { code: 'area-code-of-service', params: { areaCode: '900' } }],
    ['2732342345', { code: 'area-code-not-in-service', params: { areaCode: '273' } }],
    ['2125552345', { code: 'exchange-impossible', params: { areaCode: '212' } }],
  ])('says why %s is unknown', (number, said) => {
    expect(plan().lookup(toPhoneNumber(number))).toMatchObject({ says: [said] })
  })

  it('keeps every place the area code may reach', () => {
    expect(plan().lookup(toPhoneNumber('8502002345'))).toMatchObject({
      place: {
        source: 'area-code',
        country: 'US',
        candidates: [
          { region: 'FL', zone: 'America/New_York' },
          { region: 'FL', zone: 'America/Chicago' },
        ],
      },
    })
  })

  it('says so in its coverage', () => {
    const none = { mode: 'area-code', prefixes: 0, asOf: undefined }
    expect(plan().coverage()).toEqual({ US: none, CA: none })
  })
})

describe('without an import, strict', () => {
  it.each(['2122002345', '4162002345', '2125550123'])('%s is unknown', (number) => {
    expect(plan('strict').lookup(toPhoneNumber(number))).toMatchObject(unknown)
  })

  it('still tells toll-free numbers', () => {
    expect(plan('strict').lookup(toPhoneNumber('8002002345'))).toEqual({ status: 'toll-free' })
  })
})

describe('with the US imported', () => {
  function damageUs() {
    const path = temp.file('numbering-us.cg')
    const good = readFileSync(path)
    writeFileSync(path, good.subarray(0, good.length - 9))
    return { path, restore: () => writeFileSync(path, good) }
  }

  beforeEach(async () => {
    const nanpa = temp.write('co.txt', nanpaText(nanpaRows))
    await importNumbering({ nanpa, cnac: undefined, folder: temp.path, clock })
  })

  it('its prefixes are exact, and Canada goes by area code', () => {
    const loaded = plan()
    expect(loaded.lookup(toPhoneNumber('8505502345'))).toMatchObject({ status: 'ok' })
    expect(loaded.lookup(toPhoneNumber('8502002345'))).toMatchObject({
      ...unknown,
      says: [{ code: 'not-an-exchange-as-of', params: { areaCode: '850', asOf: '2026-07-06' } }],
    })
    expect(loaded.lookup(toPhoneNumber('4162002345'))).toMatchObject({ status: 'ok' })
    expect(loaded.coverage()).toEqual({
      US: { mode: 'imported', prefixes: 6, asOf: Date.UTC(2026, 6, 6) },
      CA: { mode: 'area-code', prefixes: 0, asOf: undefined },
    })
  })

  it('strict leaves Canada unknown', () => {
    expect(plan('strict').lookup(toPhoneNumber('8505502345'))).toMatchObject({ status: 'ok' })
    expect(plan('strict').lookup(toPhoneNumber('4162002345'))).toMatchObject(unknown)
  })

  it('an area code newer than our table is known by its listed prefixes', async () => {
    const row = '273,550,"In Service","Quebec","QC","Example","ZZ04",'
    const cnac = temp.write('co.csv', cnacText([...cnacRows, row]))
    await importNumbering({ nanpa: undefined, cnac, folder: temp.path, clock })
    const loaded = plan()
    expect(loaded.lookup(toPhoneNumber('2735502345'))).toMatchObject({
      status: 'ok',
      place: { candidates: [{ region: 'QC', zone: 'America/Toronto' }] },
    })
    expect(loaded.lookup(toPhoneNumber('2735512345'))).toMatchObject(unknown)
  })

  it('notices a new import and no other time', async () => {
    const loaded = plan()
    const wireline = { lineClass: 'wireline' }
    expect(loaded.lookup(toPhoneNumber('8505512345'))).not.toMatchObject(wireline)
    expect(await loaded.reloadIfChanged()).toBe(false)
    const file = temp.write('ocn.csv', 'ocn,class\nZZ02,wireline\n')
    await importOcnClasses({ file, folder: temp.path })
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(await loaded.reloadIfChanged()).toBe(false)
    expect(loaded.lookup(toPhoneNumber('8505512345'))).toMatchObject(wireline)
  })

  it('keeps what it has when a new file is damaged, and says so', async () => {
    const loaded = plan()
    const { path } = damageUs()
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(await loaded.reloadIfChanged()).toBe(false)
    expect(loaded.problems()).toEqual([
      {
        path,
        detail: expect.stringContaining(`${path}: is damaged or truncated`),
        olderInUse: true,
        blocked: [],
      },
    ])
    expect(loaded.lookup(toPhoneNumber('8505502345'))).toMatchObject({ status: 'ok' })
    expect(loaded.coverage().US).toMatchObject({ mode: 'imported', prefixes: 6 })
  })

  it('blocks its country alone when it is damaged at the start, until it is imported again', async () => {
    const { path, restore } = damageUs()
    const loaded = plan()
    expect(loaded.problems()).toMatchObject([{ path, olderInUse: false, blocked: ['US'] }])
    expect(loaded.coverage()).toMatchObject({ US: { mode: 'damaged' }, CA: { mode: 'area-code' } })
    for (const number of ['8505502345', '2122002345']) {
      const facts = loaded.lookup(toPhoneNumber(number))
      expect(facts).toMatchObject(unknown)
      expect(facts).toMatchObject({
        says: [
          {
            code: 'prefixes-unusable',
            params: { country: 'US' },
            quote: expect.stringContaining(`${path}: is damaged`),
          },
        ],
      })
    }
    expect(loaded.lookup(toPhoneNumber('4162002345'))).toMatchObject({ status: 'ok' })
    expect(loaded.lookup(toPhoneNumber('8002002345'))).toEqual({ status: 'toll-free' })
    writeFileSync(path, 'damaged in another way')
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(loaded.lookup(toPhoneNumber('8505502345'))).toMatchObject(unknown)
    restore()
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(loaded.problems()).toEqual([])
    expect(loaded.lookup(toPhoneNumber('8505502345'))).toMatchObject({ status: 'ok' })
  })

  it('blocks its country when the file cannot be read', async () => {
    const path = temp.file('numbering-us.cg')
    rmSync(path)
    mkdirSync(path)
    const loaded = plan()
    expect(loaded.problems()).toMatchObject([{ path, blocked: ['US'] }])
    expect(loaded.lookup(toPhoneNumber('2122002345'))).toMatchObject(unknown)
    rmdirSync(path)
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(loaded.lookup(toPhoneNumber('2122002345'))).toMatchObject({ status: 'ok' })
  })

  it('without its company classes treats every line as strictly as wireless', async () => {
    const file = temp.write('ocn.csv', 'ocn,class\nZZ02,wireline\n')
    await importOcnClasses({ file, folder: temp.path })
    expect(plan().lookup(toPhoneNumber('8505512345'))).toMatchObject({ lineClass: 'wireline' })
    const path = temp.file('ocn.cg')
    const running = plan()
    writeFileSync(path, readFileSync(path).subarray(0, -1))
    const loaded = plan()
    expect(loaded.problems()).toMatchObject([{ path, olderInUse: false, blocked: [] }])
    expect(loaded.lookup(toPhoneNumber('8505512345'))).toMatchObject({ lineClass: 'unknown' })
    expect(await running.reloadIfChanged()).toBe(true)
    expect(running.problems()).toMatchObject([{ path, olderInUse: true }])
    expect(running.lookup(toPhoneNumber('8505512345'))).toMatchObject({ lineClass: 'wireline' })
  })

  it('falls back to area codes when its file is taken away', async () => {
    const loaded = plan()
    rmSync(temp.file('numbering-us.cg'))
    expect(await loaded.reloadIfChanged()).toBe(true)
    expect(loaded.lookup(toPhoneNumber('8502002345'))).toMatchObject({ status: 'ok' })
  })
})
