import { expect } from 'vitest'
import { statusOf, whileOnList } from './support/internal-dnc.js'
import { listNumber } from './support/numbers.js'
import { isDayOrNull, isText, isTrueOrFalse } from './support/rules.js'
import { fieldTable, section, sentence, sentences } from './support/sentence.js'
import { dayFromToday } from './support/times.js'

section('internal-dnc-item', () => {
  fieldTable(
    () => statusOf(listNumber(), '123'),
    [
      ['phone', 'string', isText],
      ['onList', 'boolean', isTrueOrFalse],
      ['addedOn', 'YYYY-MM-DD or null', isDayOrNull],
      ['lastModifiedOn', 'YYYY-MM-DD or null', isDayOrNull],
    ],
  )

  sentences(
    ['212-555-0100', '12125550100', 'x'],
    (phone) => `phone is as supplied: ${phone}`,
    async (phone) => expect((await statusOf(phone))[0]?.phone).toBe(phone),
  )

  sentence('onList is membership of the internal list', async () => {
    const phone = listNumber()
    expect(await statusOf(phone)).toMatchObject([{ onList: false }])
    await whileOnList([phone], async () => {
      expect(await statusOf(phone)).toMatchObject([{ onList: true }])
    })
  })

  sentence('addedOn and lastModifiedOn are the day of adding', async () => {
    const phone = listNumber()
    await whileOnList([phone], async () => {
      const [item] = await statusOf(phone)
      const near = [dayFromToday(-1), dayFromToday(0), dayFromToday(1)]
      expect(near).toContain(item?.addedOn)
      expect(near).toContain(item?.lastModifiedOn)
    })
  })

  sentences(
    ['addedOn', 'lastModifiedOn'],
    (field) => `${field} is null when not on the list`,
    async (field) => expect((await statusOf(listNumber()))[0]).toHaveProperty(field, null),
  )

  sentences(
    ['212555010', '21255501000', '12125550100', '212-555-0100', '212555010x'],
    (phone) => `invalid is true for '${phone}', which is not exactly 10 digits`,
    async (phone) => {
      expect(await statusOf(phone)).toMatchObject([{ invalid: true, onList: false }])
    },
  )

  sentence('invalid is present only when the number is not exactly 10 digits', async () => {
    const phone = listNumber()
    expect((await statusOf(phone))[0]).not.toHaveProperty('invalid')
    await whileOnList([phone], async () => {
      expect((await statusOf(phone))[0]).not.toHaveProperty('invalid')
    })
  })
})
