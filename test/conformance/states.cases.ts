import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { pdnc, put, statusOf, store, takeOff } from './support/internal-dnc.js'
import { monitor, monitored, recordsOf, rowsIn } from './support/monitored.js'
import { listNumber, writableNumber } from './support/numbers.js'
import { project } from './support/project.js'
import { run } from './support/run.js'
import { complete, scan } from './support/scans.js'
import { scrubRow } from './support/scrubbed.js'
import { asRow, type Row, section, sentence } from './support/sentence.js'
import { dayFromToday } from './support/times.js'

const scores = ['CurrScore', 'CarrierAScore', 'CarrierBScore', 'CarrierCScore']
const order = ['Submitted', 'Processing', 'Complete', 'Failed']

section('states', () => {
  sentence('scan job: Submitted is the status returned when the job is created', async (needs) => {
    expect((await scan(needs, 'carrier')).submitted.Status).toBe('Submitted')
  })

  sentence('scan job: a status is never left for an earlier one', async (needs) => {
    const { submitted, statuses } = await scan(needs, 'carrier')
    const seen = [submitted, ...statuses].map((row) => order.indexOf(String(row.Status)))
    expect(seen).toEqual([...seen].sort((one, other) => one - other))
  })

  sentence('scan job: Complete has Results', async (needs) => {
    expect((await complete(needs, 'carrier')).Results).toBeInstanceOf(Array)
  })

  sentence('monitored number: add request makes it monitored', async () => {
    const { phones, all } = await monitored()
    expect(recordsOf(all, phones)).toHaveLength(phones.length)
  })

  sentence('monitored number: scores read Processing until each carrier is checked', async () => {
    for (const row of (await monitored()).added) {
      for (const name of scores) expect(['Processing', 'Clean']).toContain(row[name])
    }
  })

  sentence('monitored number: each carrier is checked within 24 hours', async (needs) => {
    needs(run.slow || undefined, '--slow')
    const { phone } = needs(run.facts.labels?.[0], 'facts.labels')
    const record = needs(await checkedRecord(phone), 'a server that checks within minutes')
    expect(scores.map((name) => record[name])).not.toContain('Processing')
  })

  sentence('monitored number: remove request makes it not monitored', async () => {
    const { phones, allAfter } = await monitored()
    expect(recordsOf(allAfter, phones)).toEqual([])
  })

  sentence('internal list: add puts a number on the list and sets addedOn', async () => {
    await whileOn(async (phone) => {
      const [item] = await statusOf(phone)
      expect(item).toMatchObject({ onList: true })
      expect(item?.addedOn).not.toBeNull()
    })
  })

  sentence('internal list: add of a number on the list changes nothing', async () => {
    await whileOn(async (phone) => {
      const before = await statusOf(phone)
      await put(phone)
      expect(await statusOf(phone)).toEqual(before)
    })
  })

  sentence('internal list: addedOn of an old entry is not refreshed by add', async (needs) => {
    const known = run.facts.scrub?.find(({ row }) => row.ResultCode === 'P')
    const { phone } = needs(known, 'facts.scrub: a number long on the internal list')
    const before = await statusOf(phone)
    expect(String(before[0]?.addedOn) < dayFromToday(-1)).toBe(true)
    await put(phone)
    expect(await statusOf(phone)).toEqual(before)
  })

  sentence('internal list: remove takes a number off the list', async () => {
    const phone = listNumber()
    await put(phone)
    await takeOff(phone)
    expect(await statusOf(phone)).toMatchObject([{ onList: false, addedOn: null }])
  })

  sentence(
    'internal list: remove of a number off the list has no effect and no error',
    async () => {
      const phone = listNumber()
      const reply = await pdnc({ phoneList: phone, actionType: 'remove' })
      expect(`${reply.status} ${reply.text}`).toBe('200 ')
      expect(await statusOf(phone)).toMatchObject([{ onList: false }])
    },
  )

  sentence(
    'a Permission EBR newer than an entry overrides it for scrub purposes',
    async (needs) => {
      const known = run.facts.scrub?.find(
        ({ row }) => row.EBRType === 'P' && row.ResultCode === 'O' && row.Reason === ';;;',
      )
      const { phone } = needs(known, 'facts.scrub: an old entry under a newer permission')
      expect(await scrubRow(phone)).toMatchObject({ ResultCode: 'O', EBRType: 'P' })
    },
  )

  sentence('an entry newer than the consent blocks the call', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'P', 3)
    await put(phone)
    try {
      expect(flags(await scrubRow(phone))).toEqual(['0', '0', '0'])
    } finally {
      await takeOff(phone)
    }
  })

  sentence(
    'an opted-in consumer: the entry is removed and a Permission EBR stored',
    async (needs) => {
      const phone = writableNumber(needs)
      await put(phone)
      await takeOff(phone)
      await store(phone, 'P', 0)
      expect(await scrubRow(phone)).toMatchObject({
        EBRType: 'P',
        ResultCode: expect.stringMatching(/^[EOGH]$/),
      })
    },
  )

  sentence('project: Status is active or inactive', async (needs) => {
    expect(['active', 'inactive']).toContain((await project(needs)).Status)
  })

  sentence('project: FtcValidation.Status validated occurs', async (needs) => {
    const { Status } = asRow((await project(needs)).FtcValidation)
    needs(Status === 'validated' ? Status : undefined, 'facts.project that is validated')
    expect(Status).toBe('validated')
  })

  sentence('project: StateRegistrations statuses approved and submitted occur', async (needs) => {
    const states = Object.values(asRow((await project(needs)).StateRegistrations)).map(asRow)
    const found = states.map(({ Status }) => Status)
    const both = found.includes('approved') && found.includes('submitted')
    needs(both || undefined, 'facts.project with an approved and a submitted registration')
    expect(found).toEqual(expect.arrayContaining(['approved', 'submitted']))
  })
})

/** The record of a number once its scores are known; `undefined` when that takes minutes. */
async function checkedRecord(Phone: string): Promise<Row | undefined> {
  await rowsIn(monitor.add([{ Phone }]))
  try {
    for (let turn = 0; turn < 8; turn += 1) {
      await pause(20_000)
      const [record] = await rowsIn(monitor.getByPost([Phone]))
      if (record && record.CurrScore !== 'Processing') return record
    }
    return undefined
  } finally {
    await monitor.remove([Phone])
  }
}

async function whileOn(check: (phone: string) => Promise<void>): Promise<void> {
  const phone = listNumber()
  await put(phone)
  try {
    await check(phone)
  } finally {
    await takeOff(phone)
  }
}

function flags(row: Row): readonly unknown[] {
  return [row.IsCallAllowedNonATDS, row.IsCallAllowedATDS, row.IsCallAllowedAI]
}
