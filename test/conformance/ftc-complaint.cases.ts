import { expect } from 'vitest'
import { monitor, rowsIn } from './support/monitored.js'
import { isComplaintTime, isOneOf, isText } from './support/rules.js'
import { run } from './support/run.js'
import { resultsOf } from './support/scans.js'
import { asRows, fieldTable, type Needs, type Row, section, sentence } from './support/sentence.js'

const complained = () =>
  run.facts.labels?.find(({ answer }) => Array.isArray(answer.FTCComplaints))?.phone

let once: Promise<readonly Row[]> | undefined

/** Complaints about a number known to have some, as the monitor tells them. */
function complaints(needs: Needs): Promise<readonly Row[]> {
  const phone = needs(complained(), 'facts.labels: a number with FTCComplaints')
  once ??= gather(phone)
  return once
}

async function gather(Phone: string): Promise<readonly Row[]> {
  try {
    await rowsIn(monitor.add([{ Phone }]))
    const [record] = await rowsIn(monitor.getByPost([Phone]))
    return asRows(record?.FTCComplaints)
  } finally {
    await monitor.remove([Phone])
  }
}

section('ftc-complaint', () => {
  fieldTable(complaints, [
    ['FTCComplaintId', 'string, unique', isText],
    ['Phone', 'the number complained about', (value) => value === complained()],
    ['CreatedDate', 'MM/DD/YYYY HH:MM:SS', isComplaintTime],
    ['ViolationDate', 'MM/DD/YYYY HH:MM:SS', isComplaintTime],
    ['City', 'string', isText],
    ['State', 'string', isText],
    ['AreaCode', 'string', isText],
    ['Subject', 'string', isText],
    ['RecordedMessageOrRobocall', 'Y when it is a robocall complaint', isOneOf(['Y', 'N', ''])],
  ])

  sentence('FTCComplaintId is unique', async (needs) => {
    const ids = (await complaints(needs)).map((row) => row.FTCComplaintId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  sentence('in one-time scan results five of its fields are returned alone', async (needs) => {
    const results = await resultsOf(needs, 'carrierandapps')
    const told = results.flatMap((row) =>
      row.FTCComplaints === null ? [] : asRows(row.FTCComplaints),
    )
    needs(told.length > 0 ? told : undefined, 'facts.labels: a number with FTCComplaints')
    for (const complaint of told) {
      expect(Object.keys(complaint).sort()).toEqual([
        'CreatedDate',
        'FTCComplaintId',
        'Phone',
        'Subject',
        'ViolationDate',
      ])
    }
  })
})
