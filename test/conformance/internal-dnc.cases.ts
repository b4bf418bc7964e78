import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask, type Reply } from './support/client.js'
import {
  countInJson,
  pdnc,
  pdncPath,
  put,
  statusOf,
  takeOff,
  whileOnList,
} from './support/internal-dnc.js'
import { listNumber, listNumbers } from './support/numbers.js'
import { isCount, isDayOrNull, isText } from './support/rules.js'
import { run } from './support/run.js'
import { asRow, type Needs, section, sentence, sentences } from './support/sentence.js'

const importError =
  'Error importing or updating phone numbers. Check that the numbers are of a probable format:'
const roleError = 'You do not have sufficient permissions to perform: delete_pdnc'

/** A word for the query parameter in each of its two spellings. */
const skipping = ['1', 'true']
const aborting = ['0', 'false']

section('internal-dnc', () => {
  sentences(
    ['add', 'remove', 'status'],
    (actionType) => `phoneList is required for ${actionType}`,
    async (actionType) => expectRefused(await pdnc({ actionType })),
  )

  sentence('phoneList holds 10-digit numbers separated by commas', async () => {
    const phones = listNumbers(3)
    expect((await statusOf(...phones)).map(({ phone }) => phone)).toEqual(phones)
  })

  sentence('actionType is required', async () => {
    expectRefused(await pdnc({ phoneList: listNumber() }))
  })

  sentence('actionType is one of four words', async () => {
    expectRefused(await pdnc({ phoneList: listNumber(), actionType: 'delete' }))
  })

  sentence('projId is optional', async () => {
    await whileOnList([listNumber()], async () => undefined)
  })

  sentence('projId names the internal list of a project', async (needs) => {
    const { code: projId } = needs(run.facts.project, 'facts.project')
    const phoneList = listNumber()
    const reply = await pdnc({ phoneList, actionType: 'add', projId })
    expect(reply.status).toBe(200)
    try {
      expect((await pdnc({ phoneList, actionType: 'status', projId })).text).toMatch(
        /^\d{10},\d{4}-/,
      )
      expect((await pdnc({ phoneList, actionType: 'status' })).text.trim()).toBe(`${phoneList},,`)
    } finally {
      await pdnc({ phoneList, actionType: 'remove', projId })
    }
  })

  sentence('the output is plain text by default', async () => {
    const reply = await pdnc({ phoneList: listNumber(), actionType: 'status' })
    expect(reply.headers.get('content-type')).toMatch(/^text\/plain/)
  })

  sentences(
    ['add', 'remove'],
    (actionType) => `${actionType} answers 200 with an empty body in plain text`,
    async (actionType) => {
      const phone = listNumber()
      const reply = await pdnc({ phoneList: phone, actionType })
      await takeOff(phone)
      expect(`${reply.status} ${reply.text}`).toBe('200 ')
    },
  )

  sentences(
    ['add', 'remove'],
    (actionType) => `${actionType} answers {message: 'success'} in JSON`,
    async (actionType) => {
      const phone = listNumber()
      const reply = await pdnc({ phoneList: phone, actionType }, { json: true })
      await takeOff(phone)
      expect(reply.status).toBe(200)
      expect(reply.json()).toEqual({ message: 'success' })
    },
  )

  sentence('status answers one line per number: phone, addedOn, lastModifiedOn', async () => {
    const phones = listNumbers(2)
    await whileOnList(phones, async () => {
      const { text } = await pdnc({ phoneList: phones.join(','), actionType: 'status' })
      const day = /^\d{4}-\d\d-\d\d$/
      const lines = text
        .trim()
        .split(/\r?\n/)
        .map((line) => line.split(','))
      expect(lines.map(([phone]) => phone)).toEqual(phones)
      expect(
        lines.every(([, added = '', modified = '']) => day.test(added) && day.test(modified)),
      ).toBe(true)
    })
  })

  sentence('status answers empty dates in plain text when not on the list', async () => {
    const phone = listNumber()
    const { text } = await pdnc({ phoneList: phone, actionType: 'status' })
    expect(text.trim()).toBe(`${phone},,`)
  })

  sentence('status: numbers not exactly 10 digits produce no line in plain text', async () => {
    const phone = listNumber()
    const phoneList = `123,${phone},12125550100`
    const { text } = await pdnc({ phoneList, actionType: 'status' })
    expect(text.trim()).toBe(`${phone},,`)
  })

  sentence('status: an empty body results if all numbers are skipped', async () => {
    const reply = await pdnc({ phoneList: '123,x', actionType: 'status' })
    expect(`${reply.status} ${reply.text}`).toBe('200 ')
  })

  sentence('status in JSON includes invalid numbers, marked with invalid: true', async () => {
    const phone = listNumber()
    expect(await statusOf('123', phone)).toMatchObject([
      { phone: '123', invalid: true },
      { phone, onList: false },
    ])
  })

  sentence('count answers <count>,<lastModifiedOn> in plain text', async () => {
    await whileOnList([listNumber()], async () => {
      expect((await pdnc({ actionType: 'count' })).text.trim()).toMatch(/^\d+,\d{4}-\d\d-\d\d$/)
    })
  })

  sentence('count answers {count, lastModifiedOn} in JSON', async () => {
    const row = await countInJson()
    expect(isCount(row.count) && isDayOrNull(row.lastModifiedOn)).toBe(true)
  })

  sentence('count counts the numbers on the list', async () => {
    const phones = listNumbers(3)
    await takeOff(...phones)
    const before = Number((await countInJson()).count)
    await whileOnList(phones, async () => {
      expect((await countInJson()).count).toBe(before + 3)
    })
    expect((await countInJson()).count).toBe(before)
  })

  sentences(
    [
      ['"0,"', false, '0,'],
      ['{count: 0, lastModifiedOn: null}', true, '{"count":0,"lastModifiedOn":null}'],
    ] as const,
    ([what]) => `count of an account never used is ${what}`,
    async ([, json, text], needs) => {
      const key = needs(run.unusedLoginId, '--unused-login-id, of an account with an empty list')
      expect((await pdnc({ actionType: 'count' }, { key, json })).text.trim()).toBe(text)
    },
  )

  sentences(
    [undefined, ...aborting],
    (ignoreInvalid) =>
      `add: ignoreInvalid ${ignoreInvalid ?? 'absent'} aborts the whole import on an invalid number`,
    async (ignoreInvalid) => {
      const phones = listNumbers(2)
      const phoneList = `${phones[0]},12x,${phones[1]}`
      const more = ignoreInvalid === undefined ? {} : { ignoreInvalid }
      expectRefused(await pdnc({ phoneList, actionType: 'add', ...more }))
      expect((await statusOf(...phones)).map(({ onList }) => onList)).toEqual([false, false])
    },
  )

  sentences(
    skipping,
    (ignoreInvalid) => `add: ignoreInvalid ${ignoreInvalid} imports the valid numbers`,
    async (ignoreInvalid) => {
      const phones = listNumbers(2)
      const phoneList = `${phones[0]},12x,${phones[1]}`
      try {
        expect((await pdnc({ phoneList, actionType: 'add', ignoreInvalid })).status).toBe(200)
        expect((await statusOf(...phones)).map(({ onList }) => onList)).toEqual([true, true])
      } finally {
        await takeOff(...phones)
      }
    },
  )

  sentence('add: the error names the offending value after its text', async () => {
    const reply = await pdnc({ phoneList: `${listNumber()},12345`, actionType: 'add' })
    expectRefused(reply)
    expect(reply.text).toContain(importError)
    expect(reply.text.slice(reply.text.indexOf(importError) + importError.length)).toContain(
      '12345',
    )
  })

  sentences(
    [
      ['an invalid number', { phoneList: '123', actionType: 'add' }],
      ['an unknown action', { phoneList: '2125550100', actionType: 'delete' }],
      ['a missing list', { actionType: 'add' }],
      [
        'an unknown project',
        { phoneList: '2125550100', actionType: 'add', projId: 'NO-SUCH-CODE' },
      ],
    ] as const,
    ([what]) => `errors return {error: <text>} in JSON: ${what}`,
    async ([, query]) => {
      const reply = await pdnc(query, { json: true })
      expectRefused(reply)
      expect(isText(asRow(reply.json()).error)).toBe(true)
    },
  )

  sentence('in JSON the error of add has the same text', async () => {
    const reply = await pdnc({ phoneList: '12345', actionType: 'add' }, { json: true })
    expect(asRow(reply.json()).error).toContain(importError)
  })

  sentences(
    ['add', 'status', 'count'],
    (actionType) => `${actionType} works for role Agent`,
    async (actionType, needs) => {
      const key = needs(run.agentLoginId, '--agent-login-id')
      const phone = listNumber()
      const reply = await pdnc({ phoneList: phone, actionType }, { key })
      await takeOff(phone)
      expect(reply.status).toBe(200)
    },
  )

  sentence('remove by role Agent is 403 and names delete_pdnc', async (needs) => {
    const reply = await removedByAgent(needs, {})
    expect(reply.status).toBe(403)
    expect(reply.text.trim()).toBe(roleError)
  })

  sentence('remove by role Agent is 403 with {error} in JSON', async (needs) => {
    const reply = await removedByAgent(needs, { json: true })
    expect(reply.status).toBe(403)
    expect(reply.json()).toEqual({ error: roleError })
  })

  sentence('remove by role Agent changes nothing', async (needs) => {
    const phone = listNumber()
    await whileOnList([phone], async () => {
      const key = needs(run.agentLoginId, '--agent-login-id')
      await pdnc({ phoneList: phone, actionType: 'remove' }, { key })
      expect(await statusOf(phone)).toMatchObject([{ onList: true }])
    })
  })

  sentence('role Supervisor or Administrator may remove', async () => {
    const phone = listNumber()
    await put(phone)
    await takeOff(phone)
    expect(await statusOf(phone)).toMatchObject([{ onList: false }])
  })

  sentences(
    [null, wrongKey],
    (key) => `${key === null ? 'no key' : 'an unknown key'} is 401, in both formats`,
    async (key) => {
      const query = { actionType: 'count' }
      expect((await ask({ at: 'rpc', path: pdncPath, query, key })).status).toBe(401)
      const headers = { 'content-type': 'application/json' }
      const reply = await ask({ at: 'rpc', path: pdncPath, query, key, headers })
      expect(reply.status).toBe(401)
      expect(isText(asRow(reply.json()).error)).toBe(true)
    },
  )
})

async function removedByAgent(needs: Needs, format: { json?: boolean }): Promise<Reply> {
  const key = needs(run.agentLoginId, '--agent-login-id')
  return await pdnc({ phoneList: listNumber(), actionType: 'remove' }, { key, ...format })
}

function expectRefused({ status, text }: Reply): void {
  expect(`${status} ${text}`).toMatch(/^4\d\d \S/)
}
