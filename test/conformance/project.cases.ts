import { expect } from 'vitest'
import { project } from './support/project.js'
import { projectEvent } from './support/project-event.js'
import {
  isDay,
  isInteger,
  isOneOf,
  isOptional,
  isText,
  isTextOrNull,
  isTrueOrFalse,
  isUtcTimestamp,
} from './support/rules.js'
import { run } from './support/run.js'
import {
  asRow,
  type FieldRule,
  fieldTable,
  type Needs,
  type Row,
  section,
  sentence,
} from './support/sentence.js'

const oneProject = async (needs: Needs) => [await project(needs)]

/** A part of the project; the case is skipped where it says nothing yet. */
const part = (name: string) => async (needs: Needs) => {
  const value = asRow((await project(needs))[name])
  return [needs(Object.keys(value).length > 0 ? value : undefined, `a project with ${name}`)]
}

const isState = (value: unknown) => isText(value) && /^[A-Z]{2}$/.test(value)

const whenChecked =
  (holds: (value: unknown) => boolean): FieldRule[2] =>
  (value, row) =>
    holds(value) || (value === null && row.Status !== 'validated')

section('project', () => {
  fieldTable(oneProject, [
    ['ProjectCode', 'string', isText],
    ['ProjectName', 'string', isText],
    ['AcctId', 'string', isText],
    ['Status', 'active or inactive', isOneOf(['active', 'inactive'])],
    ['DefaultCampaignId', 'integer', isInteger],
    ['FtcValidation', 'object', isObject],
    ['StateRegistrations', 'object', isObject],
    ['Webhook', 'object', isObject],
    ['CreatedOn', 'UTC ISO 8601 timestamp', isUtcTimestamp],
    ['LastModifiedOn', 'UTC ISO 8601 timestamp', isUtcTimestamp],
    [
      'LastModifiedOn',
      'not before CreatedOn',
      (value, row) => Date.parse(String(value)) >= Date.parse(String(row.CreatedOn)),
    ],
  ])

  sentence('ProjectCode is the code asked for', async (needs) => {
    const { code } = needs(run.facts.project, 'facts.project')
    expect((await project(needs)).ProjectCode).toBe(code)
  })

  sentence('AcctId is the account of the key', async (needs) => {
    const accountId = needs(run.accountId, '--account-id')
    expect((await project(needs)).AcctId).toBe(accountId)
  })

  fieldTable(part('FtcValidation'), [
    ['Status', 'string', isTextOrNull],
    ['OrgId', 'string', whenChecked(isText)],
    ['San', 'string', whenChecked(isText)],
    ['CheckedOn', 'UTC ISO 8601 timestamp', whenChecked(isUtcTimestamp)],
    ['Message', 'string or null', isTextOrNull],
    ['Expiration', 'date YYYY-MM-DD', whenChecked(isDay)],
    ['HasEntireUs', 'boolean', isTrueOrFalse],
    ['AreaCodes', 'array of strings', (value) => Array.isArray(value) && value.every(isText)],
  ])

  sentence('StateRegistrations is keyed by two-letter state code', async (needs) => {
    const keys = Object.keys(asRow((await project(needs)).StateRegistrations))
    expect(keys.filter((key) => !isState(key))).toEqual([])
  })

  fieldTable(
    async (needs) => {
      const states = Object.values(asRow((await project(needs)).StateRegistrations)).map(asRow)
      return needs(states.length > 0 ? states : undefined, 'a project with a state registration')
    },
    [
      ['Status', 'string', isText],
      ['Confirmation', 'string', (value, row) => isText(value) || row.Status !== 'approved'],
      [
        'SubmittedOn',
        'UTC ISO 8601 timestamp',
        (value, row) => isUtcTimestamp(value) || (value === null && row.Status === 'draft'),
      ],
    ],
  )

  fieldTable(part('Webhook'), [
    ['Url', 'string', isTextOrNull],
    ['LastDelivery', 'null until the first attempt, else an object', isOptional(isObject)],
  ])

  fieldTable(
    async (needs) => {
      const { LastDelivery } = asRow((await projectEvent(needs)).after.Webhook)
      return [needs(LastDelivery as Row | null, 'an attempt that is written down in time')]
    },
    [
      ['EventId', 'looks like evt_<id>', (value) => isText(value) && /^evt_\w+$/.test(value)],
      ['Event', 'string', isText],
      ['Attempt', 'integer', (value) => isInteger(value) && value >= 1],
      ['HttpStatus', 'integer, null on timeout', isOptional(isInteger)],
      ['SentOn', 'UTC timestamp', isUtcTimestamp],
    ],
  )
})

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
