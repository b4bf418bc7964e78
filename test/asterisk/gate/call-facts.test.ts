import { describe, expect, it } from 'vitest'
import { AriError } from '../../../src/asterisk/asterisk-port.js'
import { type CallFacts, CallFactsReader } from '../../../src/asterisk/gate/call-facts.js'
import { parseStasisArguments } from '../../../src/asterisk/gate/stasis-arguments.js'
import { asteriskSchema } from '../../../src/config/asterisk.js'
import { aChannel } from '../../support/fake-actions.js'

const number = '2125550100'
const nothing: CallFacts = {
  callKind: 'ai',
  projectId: undefined,
  campaignId: undefined,
  postalCode: undefined,
  callerId: undefined,
  reference: undefined,
}
const settings = {
  defaults: { kind: 'autodialed', project: 'p0' },
  trunks: [
    {
      name: 'carrier-a',
      channel: 'PJSIP/carrier-a',
      defaults: { kind: 'manual', campaign: 'ca', postal: '10001', callerid: '2125550199' },
    },
    { name: 'carrier-b', channel: 'PJSIP/carrier-b' },
  ],
}

interface Case {
  readonly args: readonly string[]
  readonly settings?: unknown
  readonly callerNumber?: string
  /** Of the event. */
  readonly published?: Readonly<Record<string, string>>
  /** What Asterisk answers; a name that is not here is not set. */
  readonly variables?: Readonly<Record<string, string | Error>>
}

/** What is read, and the variables that were asked for. */
async function read(one: Case) {
  const asked: string[] = []
  const reader = new CallFactsReader(asteriskSchema.parse(one.settings ?? {}))
  const reading = reader.read({
    args: one.args,
    channel: aChannel({ callerNumber: one.callerNumber ?? '', variables: one.published ?? {} }),
    getVariable: async (name) => {
      asked.push(name)
      const value = one.variables?.[name]
      if (value instanceof Error) throw value
      return value
    },
  })
  return { atOnce: !(reading instanceof Promise), asked, ...(await reading) }
}

describe('facts from arguments', () => {
  const rows: readonly (readonly [string, readonly string[], Partial<CallFacts>])[] = [
    ['none', [], {}],
    ['the kind', ['kind=manual'], { callKind: 'manual' }],
    ['the kind in other letters', ['KIND=AutoDialed'], { callKind: 'autodialed' }],
    [
      'all, in any order',
      ['ref=r-1', 'callerid=2125550199', 'postal=K1A 0B1', 'campaign=9', 'project=5', 'kind=ai'],
      {
        projectId: '5',
        campaignId: '9',
        postalCode: 'K1A 0B1',
        callerId: '2125550199',
        reference: 'r-1',
      },
    ],
    ['blanks round them', [' project= 5 '], { projectId: '5' }],
    ['an equals sign and a comma in the value', ['ref=a=b,c'], { reference: 'a=b,c' }],
    ['empty values, which count as not given', ['project=', 'postal= ', 'kind=', 'trunk='], {}],
    ['empty arguments', ['', 'project=5', ''], { projectId: '5' }],
    [
      'a trace',
      [`traceparent=00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
      { trace: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true } },
    ],
    ['a malformed trace, which is ignored', ['traceparent=00-a-b-01'], {}],
    ['a ZIP code of nine digits', ['postal=10001-1234'], { postalCode: '10001-1234' }],
    ['a ZIP code without its zero', ['postal=2108'], { postalCode: '02108' }],
    ['a ZIP code with a fraction', ['postal=90001.0'], { postalCode: '90001' }],
    ['the longest id', [`project=${'5'.repeat(64)}`], { projectId: '5'.repeat(64) }],
    ['the longest reference', [`ref=${'r'.repeat(200)}`], { reference: 'r'.repeat(200) }],
  ]
  for (const [what, args, facts] of rows) {
    it(`are read at once: ${what}`, async () => {
      const found = await read({ args: [number, ...args] })
      expect(found).toEqual({ atOnce: true, asked: [], facts: { ...nothing, ...facts } })
    })
  }

  const wrong: readonly (readonly [string, readonly string[], string])[] = [
    ['no number', [], 'number: is required as the first argument'],
    ['an empty number', [' ', 'kind=ai'], 'number: is required as the first argument'],
    [
      'an overlong number',
      ['2'.repeat(129)],
      `number '${'2'.repeat(60)}...': must not be longer than 128 characters`,
    ],
    [
      'an unknown key',
      [number, 'zip=10001'],
      "argument 'zip=10001': must be one of kind=, purpose=, project=, campaign=, postal=, callerid=, subject=, person=, ref=, trunk=, traceparent=",
    ],
    ['a value without a key', [number, 'manual'], "argument 'manual': must be one of kind=,"],
    ['a nameless value', [number, '=manual'], "argument '=manual': must be one of kind=,"],
    ['another number', [number, '2125550101'], "argument '2125550101': must be one of kind=,"],
    ['a key twice', [number, 'kind=ai', 'kind=manual'], "kind 'manual': is given twice"],
    ['a key twice, once empty', [number, 'Kind=', 'kind=ai'], "kind 'ai': is given twice"],
    ['a trunk twice', [number, 'trunk=', 'trunk=x'], "trunk 'x': is given twice"],
    ['a trace twice', [number, 'traceparent=', 'traceparent=x'], "traceparent 'x': is given twice"],
    [
      'an unknown kind',
      [number, 'kind=robot'],
      "kind 'robot': must be one of manual, autodialed, ai",
    ],
    [
      'a cut-off postal code',
      [number, 'postal=100'],
      "postal '100': must be a US ZIP code or a Canadian",
    ],
    [
      'a long project',
      [number, `project=${'5'.repeat(65)}`],
      'must not be longer than 64 characters',
    ],
    ['a long campaign', [number, `campaign=${'5'.repeat(65)}`], 'must not be longer than 64'],
    ['a long caller id', [number, `callerid=${'5'.repeat(101)}`], 'must not be longer than 100'],
    ['a long reference', [number, `ref=${'5'.repeat(201)}`], 'must not be longer than 200'],
    [
      'an unknown trunk',
      [number, 'trunk=x'],
      "trunk 'x': must be a trunk of the settings (there are none)",
    ],
    ['a trunk of another name', [number, 'trunk=__proto__'], "trunk '__proto__': must be a trunk"],
  ]
  for (const [what, args, refusal] of wrong) {
    it(`are refused: ${what}`, async () => {
      const found = await read({ args })
      expect(found.refusal).toContain(refusal)
      expect(found).not.toHaveProperty('facts')
    })
  }
})

describe('facts that the arguments leave out', () => {
  const rows: readonly (readonly [string, Case, Partial<CallFacts>])[] = [
    [
      'come from the defaults of the named trunk, else of all calls',
      { args: [number, 'trunk=carrier-a'], settings },
      {
        callKind: 'manual',
        projectId: 'p0',
        campaignId: 'ca',
        postalCode: '10001',
        callerId: '2125550199',
        trunk: 'carrier-a',
      },
    ],
    [
      'come from the defaults of all calls for a trunk without its own',
      { args: [number, 'trunk=carrier-b'], settings },
      { callKind: 'autodialed', projectId: 'p0', trunk: 'carrier-b' },
    ],
    [
      'come from those of all calls without a trunk',
      { args: [number], settings },
      { callKind: 'autodialed', projectId: 'p0' },
    ],
    [
      'never replace what is given',
      { args: [number, 'kind=ai', 'campaign=7', 'trunk=carrier-a'], settings },
      {
        callKind: 'ai',
        projectId: 'p0',
        campaignId: '7',
        postalCode: '10001',
        callerId: '2125550199',
        trunk: 'carrier-a',
      },
    ],
    [
      'take the caller id from the channel when nobody gives one',
      { args: [number], callerNumber: ' 2125550111 ' },
      { callerId: '2125550111' },
    ],
    [
      'take a default caller id before that of the channel',
      { args: [number], callerNumber: '2125550111', settings: { defaults: { callerid: 'd' } } },
      { callerId: 'd' },
    ],
  ]
  for (const [what, one, facts] of rows) {
    it(what, async () => {
      const found = await read(one)
      expect(found).toEqual({ atOnce: true, asked: [], facts: { ...nothing, ...facts } })
    })
  }

  it('refuse a caller id of the channel that breaks the rule', async () => {
    const { refusal } = await read({ args: [number], callerNumber: '5'.repeat(101) })
    expect(refusal).toContain('callerid')
    expect(refusal).toContain('must not be longer than 100 characters')
  })

  it('must be right in the settings, or the gate does not start', () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [{ defaults: { postal: 'x' } }, "asterisk.defaults.postal 'x': must be a US ZIP code"],
      [
        { trunks: [{ name: 'a', channel: 'PJSIP/a', defaults: { project: '5'.repeat(65) } }] },
        'asterisk.trunks a defaults.project',
      ],
    ]
    for (const [given, text] of wrong) {
      expect(() => new CallFactsReader(asteriskSchema.parse(given))).toThrow(text)
    }
  })
})

describe('facts from channel variables', () => {
  const named = { variables: { kind: 'KIND', project: 'PROJECT', postal: 'ZIP', ref: 'REF' } }

  it('are asked for only where an argument and the event leave them out', async () => {
    const found = await read({
      settings: named,
      args: [number, 'kind=manual'],
      published: { KIND: 'ai', ZIP: '10001' },
      variables: { PROJECT: ' 5 ', KIND: 'ai', ZIP: '90001' },
    })
    expect(found).toEqual({
      atOnce: false,
      asked: ['PROJECT', 'REF'],
      facts: { ...nothing, callKind: 'manual', projectId: '5', postalCode: '10001' },
    })
  })

  it('are read at once when the event brings them all, also those that are not set', async () => {
    const published = { KIND: 'Manual', PROJECT: '', ZIP: '10001', REF: '' }
    expect(await read({ settings: named, args: [number], published })).toEqual({
      atOnce: true,
      asked: [],
      facts: { ...nothing, callKind: 'manual', postalCode: '10001' },
    })
  })

  it('come before the defaults of trunk and settings', async () => {
    const found = await read({
      settings: { ...settings, variables: { kind: 'KIND', campaign: 'C' } },
      args: [number, 'trunk=carrier-a'],
      variables: { KIND: 'ai' },
    })
    expect(found).toMatchObject({ facts: { callKind: 'ai', campaignId: 'ca' } })
  })

  it('are asked for side by side', async () => {
    const waiting: (() => void)[] = []
    const reader = new CallFactsReader(asteriskSchema.parse(named))
    const reading = reader.read({
      args: [number],
      channel: aChannel(),
      getVariable: () => new Promise((resolve) => waiting.push(() => resolve(undefined))),
    })
    expect(waiting).toHaveLength(4)
    for (const answer of waiting) answer()
    expect(await reading).toEqual({ facts: nothing })
  })

  const wrong: readonly (readonly [string, Omit<Case, 'args'>, string])[] = [
    [
      'an asked one breaks its rule',
      { variables: { KIND: 'robot' } },
      "kind (variable KIND) 'robot': must be one of manual, autodialed, ai",
    ],
    [
      'a published one breaks its rule',
      { published: { ZIP: '1' } },
      "postal (variable ZIP) '1': must be a US ZIP code",
    ],
    [
      'one cannot be read',
      { variables: { PROJECT: new AriError('timed-out', 'getChannelVar', 'no answer') } },
      'project: variable PROJECT cannot be read: getChannelVar: no answer',
    ],
    [
      'none can be read',
      { variables: { KIND: new Error('a'), PROJECT: new Error('b'), ZIP: new Error('c') } },
      'kind: variable KIND cannot be read: a',
    ],
  ]
  for (const [what, one, refusal] of wrong) {
    it(`are refused when ${what}`, async () => {
      const found = await read({ settings: named, args: [number], ...one })
      expect(found.refusal).toContain(refusal)
      expect(found).not.toHaveProperty('facts')
    })
  }
})

describe('the arguments of a channel that waits already', () => {
  /** The text of the application as Asterisk 22 lists it, and the arguments it was entered with. */
  const rows: readonly (readonly [string, string, readonly string[] | undefined])[] = [
    ['Stasis', 'callgate', []],
    ['Stasis', 'callgate,2125550100', ['2125550100']],
    ['Stasis', 'callgate,2125550100,kind=ai,ref=a:b', ['2125550100', 'kind=ai', 'ref=a:b']],
    [
      'Stasis',
      'callgate,2125550100,,kind=ai,postal=,ref="x,y",callerid=\\,z, project= 5 ',
      ['2125550100', '', 'kind=ai', 'postal=', 'ref=x,y', 'callerid=,z', ' project= 5 '],
    ],
    [
      'Stasis',
      'callgate,2125550100,ref=(a,b),callerid=[x,[y,z],w],project=a"b\\"c,d',
      ['2125550100', 'ref=(a,b)', 'callerid=[x,[y,z],w]', 'project=ab"c,d'],
    ],
    ['Stasis', 'callgate,ref="(a",b),c,"d"e', ['ref=(a,b)', 'c', 'de']],
    [
      'Stasis',
      'callgate,ref=a),b,c\\\\\\,d,[e,(f],g),h',
      ['ref=a)', 'b', 'c\\,d', '[e,(f],g)', 'h'],
    ],
    ['Stasis', 'callgate,', ['']],
    ['Stasis', 'callgate-b,2125550100', undefined],
    ['Stasis', 'other,callgate', undefined],
    ['Stasis', '', undefined],
    ['StasisBroadcast', '500,^callgate,2125550100:kind=ai', undefined],
    ['Dial', 'callgate,2125550100', undefined],
  ]
  for (const [name, data, args] of rows) {
    it(`are ${JSON.stringify(args)} in ${name}(${data})`, () => {
      expect(parseStasisArguments('callgate', { name, data })).toEqual(args)
    })
  }

  it('are none when it executes nothing', () => {
    expect(parseStasisArguments('callgate', undefined)).toBeUndefined()
  })
})
